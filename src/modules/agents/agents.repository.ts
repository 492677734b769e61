import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../platform/database/database.js';

/** What agents do at this moment. */
@Injectable()
export class AgentsRepository {
  constructor(private readonly db: Db) {}

  /** Whether a city is suspended as a whole; undefined when it does not run. */
  async citySuspended(id: number): Promise<boolean | undefined> {
    const { rows } = await sql<{ suspended: boolean }>`
      select coalesce(suspended, suspended_on_start, false) as suspended from cities where id = ${id} and running`.execute(this.db);
    return rows[0]?.suspended;
  }

  /** The bead that each of these works on, the one touched last where there are several. */
  async activeBeads(streamId: number, names: readonly string[]): Promise<Map<string, string>> {
    const { rows } = await sql<{ assignee: string; id: string }>`
      select distinct on (assignee) assignee, id from beads
      where stream_id = ${streamId} and assignee = any(${[...names]}::text[]) and status = 'in_progress'
      order by assignee, updated_at desc, id`.execute(this.db);
    return new Map(rows.map(({ assignee, id }) => [assignee, id]));
  }
}
