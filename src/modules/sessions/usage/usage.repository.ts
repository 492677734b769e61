import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { UsageAgent, UsageSessionRecent, UsageTotals } from '../../../contract/usage.schemas.js';
import { Db } from '../../../platform/database/database.js';
import type { Price } from './prices.js';
import { knownZone, midnight as midnightIn, pricesJson, sums, totals, turns } from './turn-sql.js';

export interface CityUsage {
  readonly today: UsageTotals;
  readonly last_24h: UsageTotals;
  readonly recent: UsageTotals;
  readonly by_session: UsageSessionRecent[];
  readonly by_agent: UsageAgent[];
  readonly observed_from: Date | null;
  /** Sessions were deleted that may have used something since then. */
  readonly removed: boolean;
  readonly now: Date;
}

export interface SessionUsage {
  readonly total: UsageTotals;
  readonly last_24h: UsageTotals;
  readonly model: string | null;
  readonly context_used: number | null;
  readonly context_window: number | null;
  readonly observed_from: Date | null;
  readonly now: Date;
}

/** Sessions and agents that are told one by one. */
const SESSIONS = 24;
const AGENTS = 100;

const DAY = sql`now() - interval '24 hours'`;

/** What turns have used. Turns that are still going on count when they have ended. */
@Injectable()
export class UsageRepository {
  constructor(private readonly db: Db) {}

  async city(
    streamId: number,
    { zone, recentSeconds, prices }: { zone: string; recentSeconds: number; prices: readonly Price[] },
  ): Promise<CityUsage> {
    const midnight = midnightIn(knownZone(zone));
    const recent = sql`now() - ${recentSeconds}::int * interval '1 second'`;
    const begin = sql`least(${midnight}, ${DAY}, ${recent})`;
    const { rows } = await sql<CityUsage>`
      with turns as (${turns(sql`t.stream_id = ${streamId} and t.ended_at >= ${begin}`, pricesJson(prices))})
      select
        (select ${totals(sql`t.ended_at >= ${midnight}`)} from turns t) as today,
        (select ${totals(sql`t.ended_at >= ${DAY}`)} from turns t) as last_24h,
        (select ${totals(sql`t.ended_at >= ${recent}`)} from turns t) as recent,
        (select coalesce(json_agg(s.row order by s.tokens desc, s.id), '[]') from (
          select t.id, sum(t.tokens) as tokens, json_build_object('session', t.session, 'session_id', t.id, ${sums(sql`true`)}) as row
          from turns t where t.ended_at >= ${recent} group by t.id, t.session order by 2 desc, 1 limit ${SESSIONS}) s) as by_session,
        (select coalesce(json_agg(a.row order by a.tokens desc, a.agent), '[]') from (
          select t.agent, sum(t.tokens) as tokens,
            json_build_object('agent', t.agent, 'invocations', count(*) filter (where t.reported), ${sums(sql`true`)}) as row
          from turns t where t.ended_at >= ${DAY} group by t.agent order by 2 desc, 1 limit ${AGENTS}) a) as by_agent,
        (select min(t.ended_at) from session_turns t where t.stream_id = ${streamId} and t.ended_at is not null) as observed_from,
        exists (select from usage_cities u where u.stream_id = ${streamId} and u.removed_until >= ${begin}) as removed,
        now() as now`.execute(this.db);
    return rows[0]!;
  }

  async session(pk: number, prices: readonly Price[]): Promise<SessionUsage> {
    const { rows } = await sql<SessionUsage>`
      with turns as (${turns(sql`t.session_pk = ${pk} and t.ended_at is not null`, pricesJson(prices))})
      select (select ${totals(sql`true`)} from turns t) as total,
        (select ${totals(sql`t.ended_at >= ${DAY}`)} from turns t) as last_24h,
        (select min(t.ended_at) from turns t) as observed_from,
        l.model, l.context_used, l.context_window, now() as now
      from session_logs l where l.session_pk = ${pk}`.execute(this.db);
    return rows[0]!;
  }
}
