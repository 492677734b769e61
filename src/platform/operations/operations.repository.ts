import { Injectable } from '@nestjs/common';
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Database } from '../database/database.js';
import type { Tx } from '../database/transactions.js';

export interface NewOperation {
  readonly id: string;
  readonly kind: string;
  readonly target: string;
  readonly subject: string;
  readonly stream: string;
  readonly input: unknown;
  readonly eventCursor: string;
  /** When it ends at the latest, as long as nobody has claimed it: `WAIT_MS` for what workers run. */
  readonly deadlineMs: number;
  /** Left alone by workers until its deadline. */
  readonly external?: boolean;
  /** What it is a part of, when that is traced. */
  readonly traceparent?: string | undefined;
}

/** A claimed row, as the claim left it. Times are relative, by the database's clock. */
export interface ClaimedRow {
  readonly id: string;
  readonly kind: string;
  readonly target: string;
  readonly subject: string | null;
  readonly stream: string;
  /** Whose place it takes. */
  readonly city: string;
  readonly input: unknown;
  readonly attempts: number;
  readonly fence: number;
  /** It waited for a worker until it was taken. */
  readonly waited: boolean;
  readonly ageMs: number;
  readonly deadlineInMs: number;
  readonly traceparent: string | undefined;
}

/** As it is stored: a trace's place is in the input, beside what the handler reads. */
type StoredRow = Omit<ClaimedRow, 'traceparent'>;
const TRACE = '~traceparent';

/** How long work of each kind may take, in milliseconds. */
export type Deadlines = Readonly<Record<string, number>>;

export interface NextChoice {
  readonly after: string;
  readonly skip: readonly string[];
  readonly leaseMs: number;
  readonly pickupMs: number;
  readonly deadlines: Deadlines;
}

export interface LostChoice {
  readonly skip: readonly string[];
  readonly leaseMs: number;
  /** That whoever asks can run. */
  readonly kinds: readonly string[];
}

export interface ExpiredChoice {
  readonly limit: number;
  readonly leaseMs: number;
  readonly kinds: readonly string[];
}

/** One that was ended from outside. */
export interface EndedOperation {
  readonly stream: string;
  readonly subject: string | null;
  readonly target: string;
  readonly ageMs: number;
}

export interface UnfinishedOperation {
  readonly id: string;
  readonly kind: string;
  readonly state: string;
  readonly phase: string | null;
  /** As it was accepted. */
  readonly input: unknown;
}

export interface Backlog {
  readonly waiting: number;
  readonly running: number;
}

export type Ending =
  | { readonly state: 'succeeded'; readonly result: unknown }
  | { readonly state: 'failed'; readonly code: string; readonly message: string };

const now = sql<Date>`clock_timestamp()`;
const after = (ms: number): RawBuilder<Date> => sql<Date>`clock_timestamp() + ${ms / 1000}::float8 * interval '1 second'`;
/** On a city's stream it is work of that city, on the supervisor's its target is one. */
const CITY = sql`(case when o.stream = '__supervisor__' then o.target else o.stream end)`;
const CLAIMED = sql`o.id, o.kind, o.target, o.subject, o.stream, ${CITY} as city, o.input, o.attempts, o.fence,
  extract(epoch from clock_timestamp() - o.created_at)::float8 * 1000 as "ageMs",
  extract(epoch from o.deadline_at - clock_timestamp())::float8 * 1000 as "deadlineInMs"`;

/** A claim is a new fence: whoever worked under an older one can no longer finish, renew or report. */
const claimSet = (owner: string, leaseMs: number): RawBuilder<unknown> => sql`state = 'running', attempts = o.attempts + 1,
  fence = o.fence + 1, lease_owner = ${owner}, lease_until = ${after(leaseMs)}`;

/** The time of what waited counts from its claim. */
const deadlineFrom = (kinds: Deadlines): RawBuilder<unknown> => sql`deadline_at =
  clock_timestamp() + (${JSON.stringify(kinds)}::jsonb ->> o.kind)::float8 * interval '1 millisecond'`;

/** A worker runs what it knows: while an upgrade is under way others may know more. */
const known = (kinds: readonly string[]): RawBuilder<unknown> => sql`o.kind = any(${[...kinds]}::text[])`;

/** As the indexes have it. `statement_timestamp()` is one value a statement, so that it can be looked for in them. */
const WAITING = sql`o.state = 'accepted' and o.run_after < 'infinity'`;
const LOST = sql`o.state = 'running' and o.lease_until <= statement_timestamp()`;

/** Its pause is over. A fresh operation is left to the queue for a moment. */
const due = (pickupMs: number): RawBuilder<boolean> => sql<boolean>`o.run_after <= statement_timestamp()
  and (o.attempts > 0 or o.run_after <= statement_timestamp() - ${pickupMs / 1000}::float8 * interval '1 second')`;

/**
 * Past its deadline, and nobody is ending it: leases are not renewed past the deadline, so one that reaches further was taken to end
 * it. Were it taken again meanwhile, the fence would move on from under every ending and none would ever be done.
 */
const expired = (leaseMs: number): RawBuilder<boolean> => sql<boolean>`
  o.state in ('accepted', 'running') and o.deadline_at <= statement_timestamp()
  and not (o.state = 'running' and o.lease_until > statement_timestamp()
    and o.lease_until > o.deadline_at + ${leaseMs / 1000}::float8 * interval '1 second')`;

/** Cities with waiting operations by name, each found by one look into the index, however many operations it has. */
const cities = (where: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  (select ${CITY} as city from operations o where ${WAITING} and ${where} order by 1 limit 1)
  union all
  select n.city from walk w cross join lateral (
    select ${CITY} as city from operations o where ${WAITING} and ${where} and ${CITY} > w.city order by 1 limit 1) n`;

@Injectable()
export class OperationsRepository {
  /** False when the target already has an unfinished operation on that stream. */
  async insert(tx: Tx, values: NewOperation): Promise<boolean> {
    const { rows } = await sql`
      insert into operations (id, kind, target, subject, stream, input, event_cursor, run_after, deadline_at)
      values (${values.id}, ${values.kind}, ${values.target}, ${values.subject}, ${values.stream},
        ${JSON.stringify(traced(values))}::json, ${values.eventCursor}, ${values.external === true ? sql`'infinity'` : now}, ${after(values.deadlineMs)})
      on conflict (stream, target) where state in ('accepted', 'running') do nothing
      returning 1`.execute(tx);
    return rows.length === 1;
  }

  async findUnfinished(db: Kysely<Database>, stream: string, target: string): Promise<UnfinishedOperation | undefined> {
    return db
      .selectFrom('operations')
      .select(['id', 'kind', 'state', 'phase', 'input'])
      .where('stream', '=', stream)
      .where('target', '=', target)
      .where('state', 'in', ['accepted', 'running'])
      .executeTakeFirst();
  }

  /** Takes the oldest due operation of the next city by name after `after`, beginning again at the first; none of `skip`. */
  async claimNext(tx: Tx, owner: string, { after, skip, leaseMs, pickupMs, deadlines }: NextChoice): Promise<ClaimedRow | undefined> {
    const { rows } = await sql<StoredRow>`
      with later as (with recursive walk as (${cities(sql`${CITY} > ${after}`)}) select city from walk),
      earlier as (with recursive walk as (${cities(sql`${CITY} <= ${after}`)}) select city from walk),
      next as (
        select t.id from (select city from later union all select city from earlier) c
        cross join lateral (
          select o.id from operations o where ${WAITING} and ${CITY} = c.city and ${due(pickupMs)} and o.deadline_at > statement_timestamp()
            and ${known(Object.keys(deadlines))} order by o.run_after limit 1 for update skip locked) t
        where c.city <> all(${[...skip]}::text[]) limit 1
      )
      update operations o set ${claimSet(owner, leaseMs)}, ${deadlineFrom(deadlines)} from next where o.id = next.id
      returning ${CLAIMED}, true as waited`.execute(tx);
    return rows.map(claimedRow)[0];
  }

  /** Takes the operation that has been without a worker for longest; of none of the cities of `skip`. */
  async claimLost(tx: Tx, owner: string, { skip, leaseMs, kinds }: LostChoice): Promise<ClaimedRow | undefined> {
    const { rows } = await sql<StoredRow>`
      update operations o set ${claimSet(owner, leaseMs)} where o.id = (
        select o.id from operations o where ${LOST} and ${known(kinds)} and ${CITY} <> all(${[...skip]}::text[])
        order by o.lease_until limit 1 for update skip locked) returning ${CLAIMED}, false as waited`.execute(tx);
    return rows.map(claimedRow)[0];
  }

  /** Takes up to `limit` operations that are past their deadline, to end them. Those of other kinds are left for a while to whoever knows what else ends with them. */
  async claimExpired(tx: Tx, owner: string, { limit, leaseMs, kinds }: ExpiredChoice): Promise<ClaimedRow[]> {
    const { rows } = await sql<StoredRow>`
      update operations o set ${claimSet(owner, leaseMs)} from (
        select o.id, ${WAITING} as waited from operations o where ${expired(leaseMs)}
          and (${known(kinds)} or o.deadline_at <= statement_timestamp() - interval '1 minute')
        order by o.deadline_at limit ${limit} for update skip locked) late
      where o.id = late.id returning ${CLAIMED}, late.waited`.execute(tx);
    return rows.map(claimedRow);
  }

  /** Whether a sweep would find something. */
  async anyDue(db: Kysely<Database>, { pickupMs, leaseMs }: { pickupMs: number; leaseMs: number }): Promise<boolean> {
    const { rows } = await sql<{ due: boolean }>`
      select exists (select from operations o where ${expired(leaseMs)}) or exists (select from operations o where ${LOST})
        or exists (select from operations o where ${WAITING} and ${due(pickupMs)}) as due`.execute(db);
    return rows[0]!.due;
  }

  /** Not past the deadline. */
  async renew(tx: Tx, id: string, fence: number, leaseMs: number): Promise<boolean> {
    return this.#held(tx, id, fence, sql`lease_until = ${after(leaseMs)}`, sql`deadline_at > clock_timestamp()`);
  }

  /** With `anew` attempts are counted from this one on. */
  async progress(tx: Tx, id: string, fence: number, phase: string, told: { deadlineMs: number; anew: boolean }): Promise<boolean> {
    const attempts = told.anew ? sql`, attempts = 1` : sql``;
    return this.#held(tx, id, fence, sql`phase = ${phase}, deadline_at = greatest(deadline_at, ${after(told.deadlineMs)})${attempts}`);
  }

  /** Puts the operation back for another attempt after `delayMs`: it waits in line again, for `waitMs` at the most. */
  async putBack(tx: Tx, id: string, fence: number, options: { delayMs: number; counted: boolean; waitMs: number }): Promise<boolean> {
    return this.#held(
      tx,
      id,
      fence,
      sql`state = 'accepted', lease_owner = null, lease_until = null, fence = fence + 1, run_after = ${after(options.delayMs)},
        deadline_at = ${after(options.delayMs + options.waitMs)}, attempts = attempts - ${options.counted ? 0 : 1}::int`,
    );
  }

  /** The guard of every ending: true exactly once an operation, and only for the holder of the fence. */
  async finish(tx: Tx, id: string, fence: number, ending: Ending): Promise<boolean> {
    const failed = ending.state === 'failed' ? ending : undefined;
    const result = ending.state === 'succeeded' ? JSON.stringify(ending.result) : null;
    const { rows } = await sql`
      update operations set state = ${ending.state}, result = ${result}::json, error_code = ${failed?.code ?? null},
        error_message = ${failed?.message ?? null}, lease_owner = null, lease_until = null, finished_at = clock_timestamp()
      where id = ${id} and state in ('accepted', 'running') and fence = ${fence} returning 1`.execute(tx);
    return rows.length === 1;
  }

  /** Ends an operation that no worker runs: true once, also beside a worker that ends it at its deadline. */
  async endExternal(tx: Tx, id: string, kind: string, ending: Ending): Promise<EndedOperation | undefined> {
    const failed = ending.state === 'failed' ? ending : undefined;
    const result = ending.state === 'succeeded' ? JSON.stringify(ending.result) : null;
    const { rows } = await sql<EndedOperation>`
      update operations set state = ${ending.state}, result = ${result}::json, error_code = ${failed?.code ?? null},
        error_message = ${failed?.message ?? null}, lease_owner = null, lease_until = null, finished_at = clock_timestamp()
      where id = ${id} and kind = ${kind} and state in ('accepted', 'running')
      returning stream, subject, target, (extract(epoch from clock_timestamp() - created_at) * 1000)::float8 as "ageMs"`.execute(tx);
    return rows[0];
  }

  /** What an operation is a part of, when that is traced. */
  async traceparent(db: Kysely<Database>, id: string): Promise<string | undefined> {
    const { rows } = await sql<{ traceparent: string | null }>`
      select o.input ->> ${TRACE} as traceparent from operations o where o.id = ${id}`.execute(db);
    return rows[0]?.traceparent ?? undefined;
  }

  /** The same of the one that a target has unfinished. */
  async traceparentOf(db: Kysely<Database>, stream: string, target: string): Promise<string | undefined> {
    const { rows } = await sql<{ traceparent: string | null }>`
      select o.input ->> ${TRACE} as traceparent from operations o
      where o.stream = ${stream} and o.target = ${target} and o.state in ('accepted', 'running')`.execute(db);
    return rows[0]?.traceparent ?? undefined;
  }

  /** How many operations of a city have waited for longer than `afterMs`, and how many workers run. */
  async backlog(db: Kysely<Database>, city: string, afterMs: number): Promise<Backlog> {
    const { rows } = await sql<Backlog>`
      select (select count(*)::int from operations o where ${WAITING} and ${CITY} = ${city} and o.run_after <= ${after(-afterMs)}) as waiting,
        (select count(*)::int from operations o where o.state = 'running' and ${CITY} = ${city}) as running`.execute(db);
    return rows[0]!;
  }

  /** Of the one that is due for longest; 0 when none is. */
  async waitingSeconds(db: Kysely<Database>): Promise<number> {
    const { rows } = await sql<{ seconds: number }>`
      select coalesce(greatest(extract(epoch from clock_timestamp() - min(o.run_after)), 0), 0)::float8 as seconds
      from operations o where ${WAITING}`.execute(db);
    return rows[0]!.seconds;
  }

  async countUnfinished(db: Kysely<Database>): Promise<Map<string, number>> {
    const { rows } = await sql<{ state: string; n: number }>`
      select state, count(*) as n from operations where state in ('accepted', 'running') group by state`.execute(db);
    return new Map(rows.map((r) => [r.state, r.n]));
  }

  /** Deletes up to `limit` operations that finished over `keepMs` ago. */
  async purge(tx: Tx, keepMs: number, limit: number): Promise<number> {
    const { numAffectedRows } = await sql`
      delete from operations where id in (
        select id from operations where finished_at <= ${after(-keepMs)} order by finished_at limit ${limit} for update skip locked)`.execute(
      tx,
    );
    return Number(numAffectedRows ?? 0n);
  }

  async #held(tx: Tx, id: string, fence: number, set: RawBuilder<unknown>, also: RawBuilder<unknown> = sql`true`): Promise<boolean> {
    const { rows } = await sql`
      update operations set ${set} where id = ${id} and fence = ${fence} and state = 'running' and ${also} returning 1`.execute(tx);
    return rows.length === 1;
  }
}

function traced({ input, traceparent }: NewOperation): unknown {
  return traceparent === undefined ? input : { ...(input as Record<string, unknown>), [TRACE]: traceparent };
}

function claimedRow(row: StoredRow): ClaimedRow {
  const { [TRACE]: traceparent, ...input } = row.input as Record<string, unknown>;
  return { ...row, input, traceparent: typeof traceparent === 'string' ? traceparent : undefined };
}
