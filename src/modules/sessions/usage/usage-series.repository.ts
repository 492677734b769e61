import { Injectable } from '@nestjs/common';
import { sql, type RawBuilder } from 'kysely';
import type { Buckets } from '../../../contract/buckets.js';
import type { UsageTotals } from '../../../contract/usage.schemas.js';
import { Db } from '../../../platform/database/database.js';
import type { Price } from './prices.js';
import { knownZone, pricesJson, totals, turns } from './turn-sql.js';

export const GROUPS = { agent: sql`t.agent`, model: sql`t.model`, session: sql`t.id` } as const;
export type Group = keyof typeof GROUPS;

export interface SeriesQuery extends Buckets {
  /** In which buckets of whole days begin. */
  readonly zone: string;
  readonly by: Group | undefined;
  /** Groups that are told one by one; the rest is one. */
  readonly groups: number;
  /** Turns that are looked at, the newest. */
  readonly most: number;
  readonly prices: readonly Price[];
}

export interface SeriesPoint {
  readonly at: string;
  /** Null is the rest. */
  readonly of: string | null;
  readonly usage: UsageTotals;
}

export interface Series {
  readonly first: Date;
  readonly last: Date;
  /** There are older turns than were looked at. */
  readonly cut: boolean;
  /** Sessions were deleted that may have used something since the first bucket began. */
  readonly removed: boolean;
  readonly points: readonly SeriesPoint[];
}

const ms = (length: number): RawBuilder<unknown> => sql`${length}::float8 * interval '1 millisecond'`;

/** What the turns of a city have used, a bucket of time at a time. */
@Injectable()
export class UsageSeriesRepository {
  constructor(private readonly db: Db) {}

  async city(streamId: number, { since, until, bucket, zone, by, groups, most, prices }: SeriesQuery): Promise<Series> {
    const clock = knownZone(zone);
    const binned = (at: RawBuilder<unknown>): RawBuilder<Date> =>
      sql<Date>`(date_bin(${ms(bucket)}, ${at} at time zone ${clock}, timestamp '2000-01-01') at time zone ${clock})`;
    const begin = binned(sql`(now() - ${ms(since)})`);
    const end = sql`(now() - ${ms(until)})`;
    const { rows } = await sql<Series>`
      with cut as (
        select t.ended_at as at from session_turns t where t.stream_id = ${streamId} and t.ended_at >= ${begin} and t.ended_at < ${end}
        order by t.ended_at desc offset ${most} limit 1
      ), span as (
        select coalesce((select ${binned(sql`at`)} + ${ms(bucket)} from cut), ${begin}) as first, exists (select from cut) as cut
      ), turns as (
        select t.*, ${binned(sql`t.ended_at`)} as at, ${by === undefined ? sql`''` : GROUPS[by]} as of
        from (${turns(sql`t.stream_id = ${streamId} and t.ended_at >= (select first from span) and t.ended_at < ${end}`, pricesJson(prices))}) t
      ), ranked as (select t.of, row_number() over (order by sum(t.tokens) desc, t.of) as nth from turns t group by t.of),
      points as (
        select t.at, case when r.nth <= ${groups} then t.of end as of, min(r.nth) as nth, ${totals(sql`true`)} as usage
        from turns t join ranked r on r.of = t.of group by 1, 2
      )
      select span.first, ${end} as last, span.cut,
        exists (select from usage_cities u where u.stream_id = ${streamId} and u.removed_until >= span.first) as removed, (
        select coalesce(json_agg(json_build_object('at', p.at, 'of', p.of, 'usage', p.usage) order by p.at, p.nth), '[]') from points p) as points
      from span`.execute(this.db);
    return rows[0]!;
  }
}
