import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../platform/database/database.js';

@Injectable()
export class LaunchRepository {
  constructor(private readonly db: Db) {}

  /** The directory of a registered city. */
  async cityPath(streamId: number): Promise<string | undefined> {
    const { rows } = await sql<{ path: string }>`select c.dir as path from cities c where c.stream_id = ${streamId}`.execute(this.db);
    return rows[0]?.path;
  }

  /** The number of a registered city, which no other one ever has. */
  async cityId(streamId: number): Promise<number | undefined> {
    const { rows } = await sql<{ id: number }>`select c.id from cities c where c.stream_id = ${streamId}`.execute(this.db);
    return rows[0]?.id;
  }

  /** Ids of all sessions of a city that are not closed. */
  async openSessions(streamId: number): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`select id from sessions where stream_id = ${streamId} and state <> 'closed'`.execute(
      this.db,
    );
    return rows.map(({ id }) => id);
  }

  async deployment(): Promise<string> {
    const { rows } = await sql<{ id: string }>`select deployment_id()::text as id`.execute(this.db);
    return rows[0]!.id;
  }
}
