import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { RUNNER_LEASE_MS } from '../../../contract/runner-lease.js';
import { Db } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';
import type { RunnerRow } from './runner-row.js';

const SHOWN = sql`r.id, r.host, r.process_id, r.state, r.capacity, r.isolation, r.limits, s.sessions, s.live, r.lease_until, r.registered_at, r.ended_at,
  greatest(0, extract(epoch from clock_timestamp() - (r.lease_until - ${RUNNER_LEASE_MS} * interval '1 millisecond')))::float8 as age`;
const HELD = sql`runners r, lateral (select count(*) as sessions, count(*) filter (where live) as live from sessions where runner_id = r.id) s`;

@Injectable()
export class RunnerListRepository {
  constructor(private readonly db: Db) {}

  /** Those that may run sessions first, then those that ended last. One more than `limit` when there are more. */
  async list(all: boolean, limit: number): Promise<RunnerRow[]> {
    const { rows } = await sql<RunnerRow>`
      select ${SHOWN} from ${HELD} where ${all} or r.state in ('active', 'draining')
      order by r.state in ('active', 'draining') desc, coalesce(r.ended_at, r.registered_at) desc, r.id limit ${limit + 1}`.execute(
      this.db,
    );
    return rows;
  }

  async byId(tx: Tx, ids: readonly string[]): Promise<RunnerRow[]> {
    const { rows } = await sql<RunnerRow>`select ${SHOWN} from ${HELD} where r.id = any(${[...ids]}::text[]) order by r.id`.execute(tx);
    return rows;
  }

  /** How many take sessions, and how many of these can restrict the network. */
  async walls(): Promise<{ readonly active: number; readonly walled: number }> {
    const { rows } = await sql<{ active: number; walled: number }>`
      select count(*) as active, count(*) filter (where isolation = 'bubblewrap') as walled from runners where state = 'active'`.execute(
      this.db,
    );
    return rows[0]!;
  }
}
