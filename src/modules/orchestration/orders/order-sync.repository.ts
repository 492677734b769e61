import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';
import type { OrderDefinition } from './order-definition.js';
import type { OrderRow } from './order-rows.js';

export interface SyncedOrder {
  readonly scoped_name: string;
  readonly name: string;
  readonly rig: string;
  readonly definition: OrderDefinition;
  readonly listens: string | null;
  readonly enabled: boolean;
  readonly created_at: Date;
  readonly next_due_at: Date | null;
  readonly look_at: Date | null;
  readonly event_cursor: number;
}

/** The SQL of following the files and the events of cities. */
@Injectable()
export class OrderSyncRepository {
  constructor(private readonly db: Db) {}

  /** The orders of the city until now, and what is left of those of these names. */
  async orders(tx: Tx, streamId: number, scopedNames: readonly string[]): Promise<OrderRow[]> {
    const { rows } = await sql<OrderRow>`
      select * from orders where stream_id = ${streamId} and (present or scoped_name = any(${[...scopedNames]}::text[]))
      order by scoped_name for update`.execute(tx);
    return rows;
  }

  async save(tx: Tx, streamId: number, orders: readonly SyncedOrder[]): Promise<void> {
    await sql`
      insert into orders as o (stream_id, scoped_name, name, rig, definition, listens, enabled, present, created_at, next_due_at, look_at, event_cursor)
      select ${streamId}, r.scoped_name, r.name, r.rig, r.definition, r.listens, r.enabled, true, r.created_at, r.next_due_at, r.look_at, r.event_cursor
      from jsonb_to_recordset(${JSON.stringify(orders)}::jsonb) as r(scoped_name text, name text, rig text, definition jsonb, listens text,
        enabled boolean, created_at timestamptz, next_due_at timestamptz, look_at timestamptz, event_cursor bigint)
      on conflict (stream_id, scoped_name) do update set name = excluded.name, rig = excluded.rig, definition = excluded.definition,
        listens = excluded.listens, enabled = excluded.enabled, present = true, gone_at = null, next_due_at = excluded.next_due_at,
        look_at = excluded.look_at, event_cursor = excluded.event_cursor`.execute(tx);
  }

  /** The city has no orders but these: what is left of others are their times. */
  async removeOthers(tx: Tx, streamId: number, scopedNames: readonly string[]): Promise<void> {
    await sql`
      update orders set present = false, gone_at = now(), enabled = false, listens = null, look_at = null, next_due_at = null
      where stream_id = ${streamId} and present and scoped_name <> all(${[...scopedNames]}::text[])`.execute(tx);
  }

  /**
   * A city that begins to listen does so from its head on; one that listens already misses nothing.
   *
   * @param historyMs how long what is over is kept; undefined for as long as elsewhere
   */
  async saveCity(tx: Tx, streamId: number, types: readonly string[], head: number, historyMs: number | undefined): Promise<void> {
    await sql`
      update order_cities set event_types = ${types}::text[], history_ms = ${historyMs ?? null},
        event_seq = case when event_types = '{}' then ${head} else event_seq end
      where stream_id = ${streamId}`.execute(tx);
  }

  /** Whether it was noted that a city does not run: who notes that it runs again has its orders looked at. */
  async isStopped(tx: Tx, streamId: number): Promise<boolean> {
    const { rows } = await sql`select from order_cities where stream_id = ${streamId} and not running`.execute(tx);
    return rows.length > 0;
  }

  /** Whether the log of a city has moved in which an order waits for events. */
  readonly hasMoved = sql<boolean>`exists (select from order_cities o join event_streams s on s.id = o.stream_id
    where o.event_types <> '{}' and s.head > o.event_seq)`;

  /** Cities behind a stream whose orders wait for events and whose log has moved. */
  async moved(after: number, limit: number): Promise<number[]> {
    const { rows } = await sql<{ id: number }>`
      select o.stream_id as id from order_cities o join event_streams s on s.id = o.stream_id
      where o.event_types <> '{}' and s.head > o.event_seq and o.stream_id > ${after} order by o.stream_id limit ${limit}`.execute(this.db);
    return rows.map(({ id }) => id);
  }

  /**
   * Has the orders looked at whose events have come, in the next `span` events. Answers whether there are more behind these; false
   * while somebody else does it.
   */
  async wake(tx: Tx, streamId: number, now: Date, span: number): Promise<boolean> {
    const { rows } = await sql<{ seq: number; upto: number; head: number; types: string[] }>`
      select o.event_seq as seq, least(s.head, log_seek(s.epoch_ends, o.event_seq, ${span}::bigint)) as upto, s.head, o.event_types as types
      from order_cities o join event_streams s on s.id = o.stream_id where o.stream_id = ${streamId} for update of o skip locked`.execute(
      tx,
    );
    const found = rows[0];
    if (found === undefined || found.upto <= found.seq) return false;
    const { rows: came } = await sql<{ type: string }>`
      select t.type from unnest(${found.types}::text[]) as t(type) where exists (
        select from events e where e.type = t.type and e.stream_id = ${streamId} and e.seq > ${found.seq} and e.seq <= ${found.upto})`.execute(
      tx,
    );
    await sql`update order_cities set event_seq = ${found.upto} where stream_id = ${streamId}`.execute(tx);
    const more = found.upto < found.head;
    if (came.length === 0) return more;
    // An order whose firing is open is looked at when that has ended. One that is looked at just now is waited for: what it has
    // read of the log may be older than these events, and it is not to be put to sleep over them.
    await sql`
      with woken as (
        select o.scoped_name from orders o where o.stream_id = ${streamId} and o.listens = any(${came.map(({ type }) => type)}::text[])
        and not exists (select from order_firings f
          where f.stream_id = ${streamId} and f.scoped_name = o.scoped_name and f.state <> 'done' and not f.forced)
        order by o.scoped_name for update)
      update orders o set look_at = ${now} from woken w where o.stream_id = ${streamId} and o.scoped_name = w.scoped_name`.execute(tx);
    return more;
  }
}
