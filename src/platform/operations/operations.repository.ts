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
  readonly deadlineMs: number;
  /** Left alone by workers until its deadline. */
  readonly external?: boolean;
}

/** A claimed row, as the claim left it. Times are relative, by the database's clock. */
export interface ClaimedRow {
  readonly id: string;
  readonly kind: string;
  readonly target: string;
  readonly subject: string | null;
  readonly stream: string;
  readonly input: unknown;
  readonly attempts: number;
  readonly fence: number;
  readonly ageMs: number;
  readonly deadlineInMs: number;
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
}

export type Ending =
  { readonly state: 'succeeded'; readonly result: unknown } | { readonly state: 'failed'; readonly code: string; readonly message: string };

const now = sql<Date>`clock_timestamp()`;
const after = (ms: number): RawBuilder<Date> => sql<Date>`clock_timestamp() + ${ms / 1000}::float8 * interval '1 second'`;
const CLAIMED = sql`o.id, o.kind, o.target, o.subject, o.stream, o.input, o.attempts, o.fence,
  extract(epoch from clock_timestamp() - o.created_at)::float8 * 1000 as "ageMs",
  extract(epoch from o.deadline_at - clock_timestamp())::float8 * 1000 as "deadlineInMs"`;

/** A claim is a new fence: whoever worked under an older one can no longer finish, renew or report. */
const claimSet = (owner: string, leaseMs: number): RawBuilder<unknown> => sql`state = 'running', attempts = o.attempts + 1,
  fence = o.fence + 1, lease_owner = ${owner}, lease_until = ${after(leaseMs)}`;

/** Ready for a worker: waiting and its pause over, or its worker's lease has run out. */
const claimable = sql`((o.state = 'accepted' and o.run_after <= clock_timestamp()) or (o.state = 'running' and o.lease_until <= clock_timestamp()))`;

/** Overdue for the queue: as `claimable`, but a fresh operation is left to the queue for a moment. */
const due = (pickupMs: number): RawBuilder<boolean> => sql<boolean>`
  ((o.state = 'accepted' and o.run_after <= clock_timestamp()
      - (case when o.attempts = 0 then ${pickupMs / 1000}::float8 else 0 end) * interval '1 second')
    or (o.state = 'running' and o.lease_until <= clock_timestamp()))`;

/**
 * Past its deadline, and nobody is ending it: leases are not renewed past the deadline, so one that reaches further was taken to end
 * it. Were it taken again meanwhile, the fence would move on from under every ending and none would ever be done.
 */
const expired = (leaseMs: number): RawBuilder<boolean> => sql<boolean>`
  (o.deadline_at <= clock_timestamp() and not (o.state = 'running' and o.lease_until > clock_timestamp()
    and o.lease_until > o.deadline_at + ${leaseMs / 1000}::float8 * interval '1 second'))`;

@Injectable()
export class OperationsRepository {
  /** False when the target already has an unfinished operation on that stream. */
  async insert(tx: Tx, values: NewOperation): Promise<boolean> {
    const { rows } = await sql`
      insert into operations (id, kind, target, subject, stream, input, event_cursor, run_after, deadline_at)
      values (${values.id}, ${values.kind}, ${values.target}, ${values.subject}, ${values.stream},
        ${JSON.stringify(values.input)}::json, ${values.eventCursor}, ${values.external === true ? sql`'infinity'` : now}, ${after(values.deadlineMs)})
      on conflict (stream, target) where state in ('accepted', 'running') do nothing
      returning 1`.execute(tx);
    return rows.length === 1;
  }

  async findUnfinished(db: Kysely<Database>, stream: string, target: string): Promise<UnfinishedOperation | undefined> {
    return db
      .selectFrom('operations')
      .select(['id', 'kind', 'state', 'phase'])
      .where('stream', '=', stream)
      .where('target', '=', target)
      .where('state', 'in', ['accepted', 'running'])
      .executeTakeFirst();
  }

  /** Takes one operation, when it is there to be taken. */
  async claim(tx: Tx, id: string, owner: string, leaseMs: number): Promise<ClaimedRow | undefined> {
    const { rows } = await sql<ClaimedRow>`
      update operations o set ${claimSet(owner, leaseMs)}
      where o.id = ${id} and ${claimable} returning ${CLAIMED}`.execute(tx);
    return rows[0];
  }

  async anyDue(db: Kysely<Database>, { pickupMs, leaseMs }: { pickupMs: number; leaseMs: number }): Promise<boolean> {
    const { rows } = await sql<{ due: boolean }>`
      select exists (select from operations o where o.state in ('accepted', 'running')
        and (${expired(leaseMs)} or ${due(pickupMs)})) as due`.execute(db);
    return rows[0]!.due;
  }

  /** Takes up to `run` overdue operations, oldest first, and up to `expired` that are past their deadline. */
  async claimDue(
    tx: Tx,
    owner: string,
    limits: { run: number; expired: number; leaseMs: number; pickupMs: number },
  ): Promise<ClaimedRow[]> {
    const { rows } = await sql<ClaimedRow>`
      with expired as (
        select o.id from operations o where o.state in ('accepted', 'running') and ${expired(limits.leaseMs)}
        order by o.deadline_at limit ${limits.expired} for update skip locked
      ), ready as (
        select o.id from operations o where o.state in ('accepted', 'running') and ${due(limits.pickupMs)}
        order by o.run_after limit ${limits.run} for update skip locked
      )
      update operations o set ${claimSet(owner, limits.leaseMs)}
      where o.id in (select id from expired union select id from ready) returning ${CLAIMED}`.execute(tx);
    return rows;
  }

  /** Not past the deadline. */
  async renew(tx: Tx, id: string, fence: number, leaseMs: number): Promise<boolean> {
    return this.#held(tx, id, fence, sql`lease_until = ${after(leaseMs)}`, sql`deadline_at > clock_timestamp()`);
  }

  async progress(tx: Tx, id: string, fence: number, phase: string, deadlineMs: number): Promise<boolean> {
    return this.#held(tx, id, fence, sql`phase = ${phase}, deadline_at = greatest(deadline_at, ${after(deadlineMs)})`);
  }

  /** Puts the operation back for another attempt after `delayMs`. */
  async putBack(tx: Tx, id: string, fence: number, options: { delayMs: number; counted: boolean }): Promise<boolean> {
    return this.#held(
      tx,
      id,
      fence,
      sql`state = 'accepted', lease_owner = null, lease_until = null, fence = fence + 1, run_after = ${after(options.delayMs)},
        attempts = attempts - ${options.counted ? 0 : 1}::int`,
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
