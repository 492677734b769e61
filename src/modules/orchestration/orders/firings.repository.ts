import { Injectable } from '@nestjs/common';
import { sql, type Kysely } from 'kysely';
import { Db, type Database } from '../../../platform/database/database.js';
import type { DueCondition } from '../../../platform/database/due-poller.js';
import { databaseTime } from '../../../platform/database/clock.js';
import type { Tx } from '../../../platform/database/transactions.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import { keysByTurn, type Places } from '../../sessions/launch/places.js';
import type { ClaimedFiring, Ended, FiringKind, FiringRow, GivenBack, HandedEvent, NewFiring, OrderRow } from './order-rows.js';

/** What of an order a firing changes. */
export interface OrderChange {
  readonly scopedName: string;
  readonly nextDueAt?: Date | null;
  /** `unheld`: nobody who ends something will look at it; while it waits for its time, it waits for the next one from now on. */
  readonly lookAt: Date | null | 'unheld';
  readonly lastStartedAt?: Date;
  readonly eventCursor?: number;
  readonly note?: string;
}

const ORDER = sql`scoped_name, name, rig, definition, enabled, present, created_at, next_due_at, look_at, event_cursor, last_started_at,
  last_outcome, failures, note`;
/** What of the open ones only launches a run. A formula whose condition is to be checked is a command first. */
const LAUNCHES = sql`o.definition ? 'formula' and o.state <> 'checking'`;
/** What waits as long as its city does not run, or it or its rig is suspended. A city that is gone holds nothing: its firings are ended. */
const HELD = sql`(
  exists (select from cities c where c.stream_id = o.stream_id and (not c.running or coalesce(c.suspended, c.suspended_on_start)))
  or exists (
    select from rigs r where r.stream_id = o.stream_id and r.name = o.rig and r.present and coalesce(r.suspended, r.suspended_on_start)))`;
/** Characters of an event's payload that a command gets. */
const PAYLOAD = 32 * 1024;
/** Events that one firing counts: whoever fires it has the order locked meanwhile, and a log may be long. */
const COUNTED = 10_000;

/**
 * The SQL of firing orders. Whoever changes an order and its firings locks the order's row first: so nobody waits for another who
 * waits for him.
 */
@Injectable()
export class FiringsRepository {
  /** A test sets a smaller one. */
  counted = COUNTED;

  constructor(private readonly db: Db) {}

  now(db: Kysely<Database> = this.db): Promise<Date> {
    return databaseTime(db);
  }

  /** Cities with orders that are to be looked at, the longest waiting first. */
  async dueCities(now: Date, window: number): Promise<number[]> {
    const { rows } = await sql<{ stream_id: number }>`
      select stream_id from (select stream_id, look_at from orders where look_at <= ${now} order by look_at limit ${window}) d
      group by stream_id order by min(look_at)`.execute(this.db);
    return rows.map(({ stream_id }) => stream_id);
  }

  /** Whether an order is to be looked at, in whatever city. */
  readonly isDue = sql<boolean>`(select o.look_at <= clock_timestamp() from orders o where o.look_at is not null order by o.look_at limit 1)`;

  /** Those of a city that are due, locked; what somebody else looks at is left out. */
  async lockDue(tx: Tx, streamId: number, now: Date, limit: number): Promise<OrderRow[]> {
    const { rows } = await sql<OrderRow>`
      select ${ORDER} from orders where stream_id = ${streamId} and look_at <= ${now}
      order by look_at limit ${limit} for update skip locked`.execute(tx);
    return rows;
  }

  async lock(tx: Tx, streamId: number, scopedName: string): Promise<OrderRow | undefined> {
    const { rows } = await sql<OrderRow>`
      select ${ORDER} from orders where stream_id = ${streamId} and scoped_name = ${scopedName} for update`.execute(tx);
    return rows[0];
  }

  /** Several, in the order in which everybody who wants several locks them. */
  async lockAll(tx: Tx, streamId: number, scopedNames: readonly string[]): Promise<Map<string, OrderRow>> {
    const { rows } = await sql<OrderRow>`
      select ${ORDER} from orders where stream_id = ${streamId} and scoped_name = any(${[...scopedNames]}::text[])
      order by scoped_name for update`.execute(tx);
    return new Map(rows.map((row) => [row.scoped_name, row]));
  }

  /** The one guarantee that an order is fired once at a time: what the index does not take is not answered. */
  async insert(tx: Tx, streamId: number, firings: readonly NewFiring[], now: Date): Promise<Set<string>> {
    if (firings.length === 0) return new Set();
    const rows = firings.map(({ order, vars = {}, event = null, forced = false, ...firing }) => ({
      ...firing,
      ...{ scoped_name: order.scoped_name, name: order.name, rig: order.rig, definition: order.definition, vars, event, forced },
    }));
    const { rows: taken } = await sql<{ id: string }>`
      insert into order_firings (id, stream_id, scoped_name, name, rig, definition, cause, actor, reason, vars, event, forced, state, created_at)
      select f.id, ${streamId}, f.scoped_name, f.name, f.rig, f.definition, f.cause, f.actor, f.reason, f.vars, f.event, f.forced, f.state, ${now}
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as f(id text, scoped_name text, name text, rig text, definition jsonb,
        cause text, actor text, reason text, vars jsonb, event jsonb, forced boolean, state text)
      on conflict (stream_id, scoped_name) where state <> 'done' and not forced do nothing returning id`.execute(tx);
    return new Set(taken.map(({ id }) => id));
  }

  async change(tx: Tx, streamId: number, changes: readonly OrderChange[]): Promise<void> {
    if (changes.length === 0) return;
    const rows = changes.map((change) => ({
      ...{ name: change.scopedName, look: change.lookAt === 'unheld' ? null : change.lookAt, unheld: change.lookAt === 'unheld' },
      ...{ cursor: change.eventCursor ?? null, note: change.note ?? null },
      ...{ due: change.nextDueAt ?? null, sets: change.nextDueAt !== undefined, started: change.lastStartedAt ?? null },
    }));
    await sql`
      update orders o set next_due_at = case when c.sets then c.due else o.next_due_at end,
        last_started_at = coalesce(c.started, o.last_started_at), event_cursor = coalesce(c.cursor, o.event_cursor),
        note = coalesce(c.note, o.note),
        look_at = case when not c.unheld then c.look when o.look_at is not null then coalesce(c.due, o.look_at) end
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
        as c(name text, look timestamptz, unheld boolean, due timestamptz, sets boolean, started timestamptz, cursor bigint, note text)
      where o.stream_id = ${streamId} and o.scoped_name = c.name`.execute(tx);
  }

  /** Events of a kind beyond a position: the first one, or the last one with how many there are, or at least are. */
  async eventAfter(
    tx: Tx,
    streamId: number,
    type: string,
    cursor: number,
    own: string,
    delivery: 'each' | 'coalesce',
  ): Promise<HandedEvent | undefined> {
    const waiting = sql`from events e where e.type = ${type} and e.stream_id = ${streamId} and e.seq > ${cursor}
      and (e.type not like 'order.%' or e.subject is distinct from ${own})`;
    const { rows } = await sql<Omit<HandedEvent, 'subject' | 'message'> & { subject: string | null; message: string | null }>`
      select e.seq, to_char(e.ts at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as ts, e.type, e.actor, e.subject, e.message,
        case when octet_length(e.payload::text) <= ${PAYLOAD} then e.payload end as payload,
        ${delivery === 'each' ? sql`1` : sql`(select count(*)::int from (select ${waiting} limit ${this.counted}) c)`} as count
      ${waiting}
      order by e.seq ${delivery === 'each' ? sql`asc` : sql`desc`} limit 1`.execute(tx);
    const row = rows[0];
    return row && (Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as unknown as HandedEvent);
  }

  isWaiting(kind: FiringKind): DueCondition {
    return sql<boolean>`exists (
      select from order_firings o where o.state <> 'done' and o.worker is null and (${LAUNCHES}) = ${kind === 'launch'}::boolean and not ${HELD})`;
  }

  /**
   * Takes what waits, of cities that have the least of its kind in work first. Answers what is this worker's from now on.
   */
  async claim(tx: Tx, kind: FiringKind, worker: string, places: Places, leaseMs: number): Promise<ClaimedFiring[]> {
    const waiting = sql`
      select o.pk, o.turn from (
        select o.pk, o.worker, row_number() over (partition by o.stream_id order by o.worker is null, o.pk) as turn
        from order_firings o where o.state <> 'done' and (${LAUNCHES}) = ${kind === 'launch'} and (o.worker is not null or not ${HELD})) o
      where o.worker is null`;
    const { rows } = await sql<ClaimedFiring>`
      update order_firings f set worker = ${worker}, lease_until = now() + ${leaseMs} * interval '1 millisecond', attempts = f.attempts + 1,
        state = case when f.state = 'queued' then 'running' else f.state end, started_at = coalesce(f.started_at, now())
      where f.pk in (
        select w.pk from order_firings w
        where w.pk in (${keysByTurn(waiting, places)}) and w.worker is null and w.state <> 'done' for update skip locked)
      returning f.*, (
        select r.enabled and r.present from orders r where r.stream_id = f.stream_id and r.scoped_name = f.scoped_name) as active`.execute(
      tx,
    );
    return rows;
  }

  /** How many wait until a worker has a place for them. */
  async waiting(): Promise<Record<FiringKind, number>> {
    const { rows } = await sql<{ launches: number; commands: number }>`
      select count(*) filter (where ${LAUNCHES})::int as launches, count(*) filter (where not (${LAUNCHES}))::int as commands
      from order_firings o where o.state <> 'done' and o.worker is null and not ${HELD}`.execute(this.db);
    const { launches, commands } = rows[0]!;
    return { launch: launches, command: commands };
  }

  /**
   * Renews the leases of what a worker runs. Answers which of it is still its own. In the order of the keys, in which those are ended that
   * end together: the other way round both would wait for each other.
   */
  async renew(worker: string, pks: readonly number[], leaseMs: number): Promise<Set<number>> {
    const { rows } = await sql<{ pk: number }>`
      update order_firings set lease_until = now() + ${leaseMs} * interval '1 millisecond'
      where pk in (
        select pk from order_firings where pk = any(${[...pks]}::bigint[]) and worker = ${worker} and state <> 'done' order by pk for update)
      returning pk`.execute(this.db);
    return new Set(rows.map(({ pk }) => Number(pk)));
  }

  /** From now on who has this token calls the API for it. False when it is not this worker's any more. */
  async grant(firing: FiringRow, worker: string, hash: Buffer): Promise<boolean> {
    const { numAffectedRows } = await sql`
      update order_firings set token_hash = ${hash} where ${this.#whose(firing, worker)}`.execute(this.db);
    return numAffectedRows === 1n;
  }

  /** Whether it would wait if it were not begun yet. */
  async isHeld(tx: Tx, { pk }: FiringRow): Promise<boolean> {
    const { rows } = await sql`select from order_firings o where o.pk = ${pk} and ${HELD}`.execute(tx);
    return rows.length > 0;
  }

  /** A check has said yes: from now on it is a firing. False when it is not this worker's any more. */
  async passed(tx: Tx, firing: FiringRow, worker: string, now: Date): Promise<boolean> {
    const { numAffectedRows } = await sql`
      update order_firings set state = 'running', created_at = ${now} where state = 'checking' and ${this.#whose(firing, worker)}`.execute(
      tx,
    );
    return numAffectedRows === 1n;
  }

  /** @param worker whose it has to be; undefined when it has to be one whose lease has run out */
  async end(tx: Tx, firing: FiringRow, worker: string | undefined, ended: Ended, now: Date): Promise<boolean> {
    const { numAffectedRows } = await sql`
      update order_firings set state = 'done', finished_at = ${now}, outcome = ${ended.outcome}, exit_code = ${ended.exitCode ?? null},
        output = ${ended.output ?? null}, error = ${ended.error ?? null}, lease_until = null
      where ${this.#whose(firing, worker)}`.execute(tx);
    return numAffectedRows === 1n;
  }

  async drop(tx: Tx, firing: FiringRow, worker: string | undefined): Promise<boolean> {
    const { numAffectedRows } = await sql`
      delete from order_firings where state = 'checking' and ${this.#whose(firing, worker)}`.execute(tx);
    return numAffectedRows === 1n;
  }

  /**
   * Gives it to whoever takes it next. Whoever gives his own back has not lost it: that does not count as tried.
   *
   * @param unbegun he has begun nothing of it: whether somebody has is what it was when he took it
   */
  async requeue(tx: Tx, firing: GivenBack, worker: string | undefined, unbegun = false): Promise<boolean> {
    const { numAffectedRows } = await sql`
      update order_firings set state = case when state = 'running' then 'queued' else state end, worker = null, lease_until = null,
        attempts = attempts - ${worker === undefined ? 0 : 1},
        token_hash = case when ${unbegun} then ${firing.token_hash ?? null}::bytea else token_hash end
      where ${this.#whose(firing, worker)}`.execute(tx);
    return numAffectedRows === 1n;
  }

  /** It is this attempt's still: the same worker may have lost it and have it again. */
  #whose({ pk, attempts }: FiringRow, worker: string | undefined): ReturnType<typeof sql> {
    const whose = worker === undefined ? sql`worker is not null and lease_until < now()` : sql`worker = ${worker}`;
    return sql`pk = ${pk} and attempts = ${attempts} and state <> 'done' and ${whose}`;
  }

  readonly isLost = sql<boolean>`exists (
    select from order_firings where state <> 'done' and worker is not null and lease_until < now())`;

  /** Those whose worker has not said for too long that it lives. */
  async expired(limit: number): Promise<FiringRow[]> {
    const { rows } = await sql<FiringRow>`
      select * from order_firings where state <> 'done' and worker is not null and lease_until < now() order by lease_until limit ${limit}`.execute(
      this.db,
    );
    return rows;
  }

  async settle(tx: Tx, streamId: number, scopedName: string, outcome: string, lookAt: Date | null): Promise<void> {
    const good = outcome === 'success';
    await sql`
      update orders set last_outcome = ${outcome}, failures = ${good ? sql`0` : sql`failures + 1`},
        look_at = case when enabled and present then ${lookAt}::timestamptz end
      where stream_id = ${streamId} and scoped_name = ${scopedName}`.execute(tx);
  }

  /** The city of a stream as long as it is registered. */
  async city(streamId: number): Promise<(CityScope & { readonly running: boolean }) | undefined> {
    const { rows } = await sql<CityScope & { running: boolean }>`
      select c.id, c.name, c.dir as path, c.name as stream, c.stream_id as "streamId", c.running from cities c
      where c.stream_id = ${streamId}`.execute(this.db);
    return rows[0];
  }

  async launched(tx: Tx, pk: number, root: string): Promise<void> {
    await sql`update order_firings set root_bead_id = ${root} where pk = ${pk}`.execute(tx);
  }

  /** The name of a stream: that of the city, registered or not. */
  async stream(streamId: number): Promise<string | undefined> {
    const { rows } = await sql<{ name: string }>`select name from event_streams where id = ${streamId}`.execute(this.db);
    return rows[0]?.name;
  }
}
