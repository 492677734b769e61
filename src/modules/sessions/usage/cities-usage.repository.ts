import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { UsageTotals } from '../../../contract/usage.schemas.js';
import { Db } from '../../../platform/database/database.js';
import { midnight, totals, turns, unpriced } from './turn-sql.js';

export interface CityUsageRow {
  readonly city: string;
  /** What its files say of prices is known. */
  readonly known: boolean;
  readonly recorded: boolean;
  /** Sessions were deleted that may have used something in these times. */
  readonly removed: boolean;
  readonly today: UsageTotals;
  readonly last_24h: UsageTotals;
  readonly recent: UsageTotals;
}

export interface CostRow {
  readonly streamId: number;
  readonly cost: number;
  readonly unpriced: number;
}

export interface CitiesPage {
  readonly names: readonly string[] | undefined;
  readonly after: string;
  readonly limit: number;
}

const DAY = sql`now() - interval '24 hours'`;
const PRICES = sql`coalesce(u.prices, '[]')`;
const MIDNIGHT = midnight(sql`coalesce(u.zone, 'UTC')`);

/** What many cities have used, in one statement. */
@Injectable()
export class CitiesUsageRepository {
  constructor(private readonly db: Db) {}

  /** By name; one more than `limit` when there are more. */
  async page({ names, after, limit }: CitiesPage, recentSeconds: number): Promise<CityUsageRow[]> {
    const recent = sql`now() - ${recentSeconds}::int * interval '1 second'`;
    const { rows } = await sql<CityUsageRow>`
      select c.name as city, coalesce(u.revision, 0) > 0 as known, coalesce(u.recorded, true) as recorded,
        coalesce(u.removed_until >= least(${MIDNIGHT}, ${DAY}), false) as removed, x.today, x.last_24h, x.recent
      from (
        select c.name, c.stream_id from cities c
        where c.name > ${after} and (${names === undefined} or c.name = any(${[...(names ?? [])]}::text[])) order by c.name limit ${limit + 1}
      ) c left join usage_cities u on u.stream_id = c.stream_id cross join lateral (
        select ${totals(sql`t.ended_at >= ${MIDNIGHT}`)} as today, ${totals(sql`t.ended_at >= ${DAY}`)} as last_24h, ${totals(sql`t.ended_at >= ${recent}`)} as recent
        from (${turns(sql`t.stream_id = c.stream_id and t.ended_at >= least(${MIDNIGHT}, ${DAY})`, PRICES)}) t
      ) x order by c.name`.execute(this.db);
    return rows;
  }

  async count(names: readonly string[] | undefined): Promise<number> {
    const { rows } = await sql<{ n: number }>`
      select count(*) as n from cities where (${names === undefined} or name = any(${[...(names ?? [])]}::text[]))`.execute(this.db);
    return rows[0]!.n;
  }

  /** What cities have cost since midnight; none of one that does not record it. */
  async today(streamIds: readonly number[]): Promise<CostRow[]> {
    const { rows } = await sql<CostRow>`
      select c.id as "streamId", x.cost, x.unpriced from unnest(${[...streamIds]}::int[]) as c(id)
      left join usage_cities u on u.stream_id = c.id cross join lateral (
        select coalesce(sum(t.cost), 0)::float8 as cost, ${unpriced(sql`true`)} as unpriced
        from (${turns(sql`t.stream_id = c.id and t.ended_at >= ${MIDNIGHT}`, PRICES)}) t
      ) x where coalesce(u.recorded, true)`.execute(this.db);
    return rows;
  }
}
