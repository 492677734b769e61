import { Injectable } from '@nestjs/common';
import { sql, type Kysely } from 'kysely';
import type { Database } from '../../../platform/database/database.js';

export interface EmptyRunRow {
  readonly template: string;
  readonly empty: boolean;
  readonly at: Date;
  readonly now: Date;
}

@Injectable()
export class EmptyRunsRepository {
  /** Runs of pools for work in the last hour, the newest first: those that ended without any, and those that had some. An index knows when they were made. */
  async runs(db: Kysely<Database>, streamId: number): Promise<EmptyRunRow[]> {
    const { rows } = await sql<EmptyRunRow>`
      select s.template, s.metadata ? 'empty_run' as empty, coalesce(s.closed_at, s.stop_requested_at, s.state_at) as at,
        clock_timestamp() as now from sessions s
      where s.stream_id = ${streamId} and s.origin = 'pool' and (s.metadata ? 'empty_run' or s.state = 'closed')
        and s.created_at > statement_timestamp() - interval '1 day' and coalesce(s.closed_at, statement_timestamp()) > statement_timestamp() - interval '1 hour'
      order by 3 desc limit 500`.execute(db);
    return rows;
  }
}
