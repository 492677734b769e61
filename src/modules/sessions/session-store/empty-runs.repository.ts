import { Injectable } from '@nestjs/common';
import { sql, type Kysely } from 'kysely';
import type { Database } from '../../../platform/database/database.js';

export interface EmptyRunRow {
  readonly template: string;
  readonly member: string | null;
  readonly empty: boolean;
  /** Words of `EMPTY_FOR`, with commas. */
  readonly empty_for: string;
  /** How it has ended; null for one that was drained, and of the release before. */
  readonly ended: string | null;
  readonly at: Date;
  readonly tried_hash: string | null;
  readonly options: Readonly<Record<string, string>>;
  readonly now: Date;
}

/** Of each member: more in a row make no pause longer. */
const OF_A_MEMBER = 20;

@Injectable()
export class EmptyRunsRepository {
  /**
   * Runs of pools in the last hour, the newest first: those that came to nothing, and of each member the last that did not. One that never had a
   * process is neither. Many runs of one pool hide nothing of another one. An index knows when they were made.
   */
  async runs(db: Kysely<Database>, streamId: number): Promise<EmptyRunRow[]> {
    const { rows } = await sql<EmptyRunRow>`
      select r.template, r.member, r.empty, r.empty_for, r.ended, r.at, r.tried_hash, r.options, clock_timestamp() as now from (
        select e.template, e.member, e.empty, e.empty_for, e.ended, e.at, e.tried_hash, e.options,
          row_number() over (partition by e.template, e.member, e.empty order by e.at desc) as nth from (
          select s.template, s.agent_name as member, s.metadata ? 'empty_run' as empty, coalesce(s.metadata ->> 'empty_for', 'pool') as empty_for,
            s.metadata ->> 'empty_end' as ended, s.tried_hash, coalesce(s.launch_options, s.options) as options,
            coalesce(s.closed_at, s.stop_requested_at, s.state_at) as at from sessions s
          where s.stream_id = ${streamId} and s.origin = 'pool'
            and (s.metadata ? 'empty_run' or (s.state = 'closed' and s.close_code = 'drained' and s.ready_at is not null))
            and s.created_at > statement_timestamp() - interval '1 day'
            and coalesce(s.closed_at, statement_timestamp()) > statement_timestamp() - interval '1 hour') e) r
      where r.nth <= case when r.empty then ${OF_A_MEMBER}::int else 1 end
      order by r.at desc`.execute(db);
    return rows;
  }
}
