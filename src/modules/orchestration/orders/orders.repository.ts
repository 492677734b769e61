import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { utc } from '../../../contract/scalars.js';
import { Db } from '../../../platform/database/database.js';
import type { FiringRow, OpenFiring, OrderRow, ShownFiring } from './order-rows.js';

export type OrderState = Pick<
  OrderRow,
  'scoped_name' | 'created_at' | 'next_due_at' | 'last_started_at' | 'last_outcome' | 'failures' | 'note' | 'event_cursor'
> & {
  /** The firing that is open. */
  readonly open: string | null;
  /** It waits for a place on a worker. */
  readonly waits: boolean;
};

/** A page of history is held to this; an output is shortened in lists. */
const SHOWN = 2_000;
/** What lists tell of what was carried out. */
const SAID = sql`jsonb_strip_nulls(jsonb_build_object('formula', f.definition -> 'formula', 'pool', f.definition -> 'pool'))`;

/** What is remembered of orders and their firings, for answers. */
@Injectable()
export class OrdersRepository {
  constructor(private readonly db: Db) {}

  async states(streamId: number, scopedNames: readonly string[]): Promise<Map<string, OrderState>> {
    const { rows } = await sql<OrderState>`
      select o.scoped_name, o.created_at, o.next_due_at, o.last_started_at, o.last_outcome, o.failures, o.note, o.event_cursor, f.id as open,
        f.id is not null and f.worker is null as waits
      from orders o left join order_firings f
        on f.stream_id = o.stream_id and f.scoped_name = o.scoped_name and f.state not in ('done', 'checking') and not f.forced
      where o.stream_id = ${streamId} and o.scoped_name = any(${[...scopedNames]}::text[])`.execute(this.db);
    return new Map(rows.map((row) => [row.scoped_name, row]));
  }

  /** Which of these orders have an event waiting for them. */
  async waiting(streamId: number, scopedNames: readonly string[]): Promise<Set<string>> {
    const { rows } = await sql<{ scoped_name: string }>`
      select o.scoped_name from orders o where o.stream_id = ${streamId} and o.scoped_name = any(${[...scopedNames]}::text[])
        and o.listens is not null and exists (
          select from events e where e.type = o.listens and e.stream_id = o.stream_id and e.seq > o.event_cursor
            and (e.type not like 'order.%' or e.subject is distinct from o.scoped_name))`.execute(this.db);
    return new Set(rows.map(({ scoped_name: name }) => name));
  }

  /** The newest first; checks of conditions that have not passed are no firings. */
  async history(streamId: number, scopedName: string, limit: number, before?: string, from?: number): Promise<ShownFiring[]> {
    const { rows } = await sql<ShownFiring>`
      select f.pk, f.id, f.scoped_name, f.name, f.rig, ${SAID} as definition, f.cause, f.actor, f.reason, f.state, f.created_at, f.started_at,
        f.finished_at, f.outcome, f.exit_code, right(f.output, ${SHOWN}) as output, f.error, f.root_bead_id
      from order_firings f where f.stream_id = ${streamId} and f.scoped_name = ${scopedName} and f.state <> 'checking'
        ${before === undefined ? sql`` : sql`and f.created_at < ${utc(before)}::timestamptz`}
        ${from === undefined ? sql`` : sql`and f.pk < ${from}`}
      order by f.pk desc limit ${limit}`.execute(this.db);
    return rows;
  }

  async firing(streamId: number, id: string): Promise<FiringRow | undefined> {
    const { rows } = await sql<FiringRow>`
      select * from order_firings where stream_id = ${streamId} and id = ${id} and state <> 'checking'`.execute(this.db);
    return rows[0];
  }

  /** What is being carried out in a scope: what runs before what waits, and of each the newest first. */
  async open(streamId: number, rig: string | undefined, limit: number): Promise<OpenFiring[]> {
    const { rows } = await sql<OpenFiring>`
      select f.id, f.name, f.scoped_name, f.rig, ${SAID} as definition, f.state, f.created_at, f.started_at
      from order_firings f where f.stream_id = ${streamId} and f.state in ('queued', 'running')
        ${rig === undefined ? sql`` : sql`and f.rig = ${rig}`}
      order by f.state = 'running' desc, f.pk desc limit ${limit}`.execute(this.db);
    return rows;
  }
}
