import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../platform/database/database.js';

/** A place in the walk through the orders of all cities. */
export interface OrderPlace {
  readonly streamId: number;
  readonly name: string;
}

/** What of an order's past is kept. */
export interface Kept {
  /** How long, where its city says nothing. */
  readonly usualMs: number;
  /** How many of each order always are. */
  readonly last: number;
}

export interface Step {
  /** Where the next step begins; undefined at the end. */
  readonly next: OrderPlace | undefined;
  /** The last order of this one; undefined when there is none. */
  readonly last: OrderPlace | undefined;
  readonly gone: number;
}

/** Orders of a step, the oldest firings of each that it looks at, and those that it removes. */
export interface StepBounds {
  readonly orders: number;
  readonly each: number;
  readonly firings: number;
}

/** SQL of what is over of orders. */
@Injectable()
export class OrderHistoryRepository {
  constructor(private readonly db: Db) {}

  /**
   * Removes firings of the orders after a place that ended longer ago than their city keeps them, but for the last ones of each. Of an order
   * that has none it reads the oldest and the last ones.
   */
  async forget(after: OrderPlace | undefined, { usualMs, last }: Kept, { orders, each, firings }: StepBounds): Promise<Step> {
    const { rows } = await sql<{ looked: number; gone: number; stream_id: number; scoped_name: string }>`
      with page as materialized (
        select o.stream_id, o.scoped_name, clock_timestamp() - coalesce(c.history_ms, ${usualMs}::bigint) * interval '1 millisecond' as kept_since
        from orders o left join order_cities c on c.stream_id = o.stream_id
        where (o.stream_id, o.scoped_name) > (${after?.streamId ?? 0}::int, ${after?.name ?? ''}::text)
        order by o.stream_id, o.scoped_name limit ${orders}
      ), gone as (
        delete from order_firings where pk in (
          select f.pk from page p
          cross join lateral (
            select n.pk from order_firings n where n.stream_id = p.stream_id and n.scoped_name = p.scoped_name order by n.pk desc offset ${last - 1} limit 1
          ) newest
          cross join lateral (
            select n.finished_at from order_firings n
            where n.stream_id = p.stream_id and n.scoped_name = p.scoped_name and n.state = 'done' order by n.pk limit 1
          ) oldest
          cross join lateral (
            select o.pk, o.state, o.finished_at from order_firings o
            where oldest.finished_at < p.kept_since and o.stream_id = p.stream_id and o.scoped_name = p.scoped_name and o.pk < newest.pk
            order by o.pk limit ${each}
          ) f
          where f.state = 'done' and f.finished_at < p.kept_since limit ${firings}) returning 1
      )
      select (select count(*)::int from page) as looked, (select count(*)::int from gone) as gone, p.stream_id, p.scoped_name
      from page p order by p.stream_id desc, p.scoped_name desc limit 1`.execute(this.db);
    const [row] = rows;
    if (row === undefined) return { next: undefined, last: undefined, gone: 0 };
    const place = { streamId: row.stream_id, name: row.scoped_name };
    return { next: row.looked < orders ? undefined : place, last: place, gone: row.gone };
  }

  /**
   * Removes what is left of the orders after a place, up to another, that no file has had for as long as history is kept, with firings that are
   * all as old; one that something waits for stays. What `forget` has to do for one is left to it: no more firings go with one than the last of
   * each. Notes of those that nobody has noted that they are gone.
   */
  async dropGone(after: OrderPlace | undefined, upto: OrderPlace, { usualMs, last }: Kept): Promise<void> {
    // The offsets have the firings of an order looked up by it: without one those of all orders may be read.
    const between = sql`(o.stream_id, o.scoped_name) > (${after?.streamId ?? 0}::int, ${after?.name ?? ''}::text)
      and (o.stream_id, o.scoped_name) <= (${upto.streamId}::int, ${upto.name}::text)`;
    await sql`
      with noted as (
        update orders n set gone_at = now() from (
          select o.stream_id, o.scoped_name from orders o where ${between} and not o.present and o.gone_at is null
          order by o.stream_id, o.scoped_name for update skip locked) u
        where n.stream_id = u.stream_id and n.scoped_name = u.scoped_name
      ), over as materialized (
        select o.stream_id, o.scoped_name from orders o left join order_cities c on c.stream_id = o.stream_id
        cross join lateral (select now() - greatest(c.history_ms, ${usualMs}::bigint) * interval '1 millisecond' as since) kept
        where ${between} and not o.present and o.gone_at < kept.since
          and not exists (
            select from order_firings f where f.stream_id = o.stream_id and f.scoped_name = o.scoped_name
              and (f.state <> 'done' or f.finished_at >= kept.since) offset 0)
          and not exists (
            select from order_firings f where f.stream_id = o.stream_id and f.scoped_name = o.scoped_name offset ${last} limit 1)
          and not exists (
            select from webhook_deliveries d where d.stream_id = o.stream_id and d.scoped_name = o.scoped_name and d.waiting)
        order by o.stream_id, o.scoped_name for update of o skip locked
      ), fired as (
        delete from order_firings f using over v where f.stream_id = v.stream_id and f.scoped_name = v.scoped_name
      )
      delete from orders o using over v where o.stream_id = v.stream_id and o.scoped_name = v.scoped_name`.execute(this.db);
  }
}
