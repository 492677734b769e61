import { Injectable } from '@nestjs/common';
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Database } from '../database/database.js';
import type { Tx } from '../database/transactions.js';
import { DEAD } from '../processes/dead.js';

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

/** With `anew` attempts are counted from this one on. */
export interface Progress {
  readonly phase: string;
  readonly deadlineMs: number;
  readonly anew: boolean;
}

export type Ending =
  | { readonly state: 'succeeded'; readonly result: unknown }
  | { readonly state: 'failed'; readonly code: string; readonly message: string };

/** Where the input has a trace's place, beside what the handler reads. */
export const TRACE = '~traceparent';

const now = sql<Date>`clock_timestamp()`;
export const after = (ms: number): RawBuilder<Date> => sql<Date>`clock_timestamp() + ${ms / 1000}::float8 * interval '1 second'`;
/** On a city's stream it is work of that city, on the supervisor's its target is one. */
export const CITY = sql`(case when o.stream = '__supervisor__' then o.target else o.stream end)`;
/** As the index has it. */
export const WAITING = sql`o.state = 'accepted' and o.run_after < 'infinity'`;
const WORKS = sql`p.role in ('worker', 'all')`;
const ended = (ending: Ending): RawBuilder<unknown> => {
  const failed = ending.state === 'failed' ? ending : undefined;
  const result = ending.state === 'succeeded' ? JSON.stringify(ending.result) : null;
  return sql`state = ${ending.state}, result = ${result}::json, error_code = ${failed?.code ?? null},
    error_message = ${failed?.message ?? null}, lease_owner = null, lease_until = null, finished_at = clock_timestamp()`;
};

const advance = ({ phase, deadlineMs, anew }: Progress): RawBuilder<unknown> => sql`phase = ${phase},
  deadline_at = greatest(deadline_at, ${after(deadlineMs)})${anew ? sql`, attempts = 1` : sql``}`;

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

  /** Not past the deadline. */
  async renew(db: Kysely<Database>, id: string, fence: number, leaseMs: number): Promise<boolean> {
    return this.#held(db, id, fence, sql`lease_until = ${after(leaseMs)}`, sql`deadline_at > clock_timestamp()`);
  }

  async progress(db: Kysely<Database>, id: string, fence: number, told: Progress): Promise<boolean> {
    return this.#held(db, id, fence, advance(told));
  }

  /** The same where `write` returns a row, in one statement with it. Answers that row, and whether the phase was written. */
  async progressWith<T>(
    db: Kysely<Database>,
    id: string,
    fence: number,
    told: Progress,
    write: RawBuilder<T>,
  ): Promise<{ held: boolean; written: T | undefined }> {
    const { rows } = await sql<{ held: boolean; written: T[] }>`
      with written as (${write}), moved as (
        update operations set ${advance(told)}
        where id = ${id} and fence = ${fence} and state = 'running' and exists (select from written) returning 1)
      select exists (select from moved) as held, array(select to_json(w) from written w) as written`.execute(db);
    const { held, written } = rows[0]!;
    return { held, written: written[0] };
  }

  /** Puts the operation back for another attempt after `delayMs`: it waits in line again, for `waitMs` at the most. */
  async putBack(
    db: Kysely<Database>,
    id: string,
    fence: number,
    options: { delayMs: number; counted: boolean; waitMs: number },
  ): Promise<boolean> {
    return this.#held(
      db,
      id,
      fence,
      sql`state = 'accepted', lease_owner = null, lease_until = null, fence = fence + 1, run_after = ${after(options.delayMs)},
        deadline_at = ${after(options.delayMs + options.waitMs)}, attempts = attempts - ${options.counted ? 0 : 1}::int`,
    );
  }

  /** The guard of every ending: true exactly once an operation, and only for the holder of the fence. */
  async finish(tx: Tx, id: string, fence: number, ending: Ending): Promise<boolean> {
    const { rows } = await sql`
      update operations set ${ended(ending)}
      where id = ${id} and state in ('accepted', 'running') and fence = ${fence} returning 1`.execute(tx);
    return rows.length === 1;
  }

  /** Ends an operation that no worker runs: true once, also beside a worker that ends it at its deadline. */
  async endExternal(tx: Tx, id: string, kind: string, ending: Ending): Promise<EndedOperation | undefined> {
    const { rows } = await sql<EndedOperation>`
      update operations set ${ended(ending)}
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

  /**
   * Of the one that waits for a worker for longest; 0 when none does. One that has lost its worker waits since its lease ended. One that a reconciler ends
   * has no turn at a worker, so it waits while none is alive, and since the last one was at the most.
   */
  async waitingSeconds(db: Kysely<Database>): Promise<number> {
    const { rows } = await sql<{ seconds: number }>`
      select coalesce(greatest(extract(epoch from clock_timestamp() - least(
          (select min(o.run_after) from operations o where ${WAITING}),
          (select min(o.lease_until) from operations o where o.state = 'running'),
          (select greatest(min(o.created_at), (select max(coalesce(p.stopped_at, p.heartbeat_at)) from processes p where ${WORKS}))
            from operations o where o.state = 'accepted' and o.run_after = 'infinity'
              and not exists (select from processes p where ${WORKS} and not ${DEAD}))
        )), 0), 0)::float8 as seconds`.execute(db);
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

  async #held(
    db: Kysely<Database>,
    id: string,
    fence: number,
    set: RawBuilder<unknown>,
    also: RawBuilder<unknown> = sql`true`,
  ): Promise<boolean> {
    const { rows } = await sql`
      update operations set ${set} where id = ${id} and fence = ${fence} and state = 'running' and ${also} returning 1`.execute(db);
    return rows.length === 1;
  }
}

function traced({ input, traceparent }: NewOperation): unknown {
  return traceparent === undefined ? input : { ...(input as Record<string, unknown>), [TRACE]: traceparent };
}
