import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../platform/database/database.js';

export interface LiveProcess {
  readonly id: string;
  readonly role: 'all' | 'api' | 'worker';
  readonly host: string;
  readonly version: string;
}

@Injectable()
export class InfoRepository {
  constructor(private readonly db: Db) {}

  /** The server's version, and the names of its migrations in order. */
  async database(): Promise<{ readonly version: string; readonly migrations: readonly string[] }> {
    const { rows } = await sql<{ version: string; migrations: string[] }>`
      select current_setting('server_version') as version, array(select name::text from kysely_migration order by name) as migrations`.execute(
      this.db,
    );
    return rows[0]!;
  }

  /** Processes that beat, those of the newest version first. One more than `limit` when there are more. */
  async processes(limit: number): Promise<LiveProcess[]> {
    const { rows } = await sql<LiveProcess>`
      select id, role, hostname as host, version from processes
      where stopped_at is null and heartbeat_at > now() - interval '10 seconds'
      order by version desc, role, id limit ${limit + 1}`.execute(this.db);
    return rows;
  }

  /** When a key ends; null when it does not. */
  async keyExpiry(id: string): Promise<Date | null> {
    const row = await this.db.selectFrom('api_keys').select('expires_at').where('id', '=', id).executeTakeFirst();
    return row?.expires_at ?? null;
  }
}
