import { Injectable } from '@nestjs/common';
import { sql, type Kysely } from 'kysely';
import { Db, type Database } from '../../../platform/database/database.js';

/** The part of suspension that is no file's and no agent's. */
@Injectable()
export class EffectiveSuspensionRepository {
  constructor(private readonly db: Db) {}

  /** Whether a city is suspended as a whole; undefined when it is not registered. */
  async city(streamId: number, db: Kysely<Database> = this.db): Promise<boolean | undefined> {
    const { rows } = await sql<{ suspended: boolean }>`
      select coalesce(suspended, suspended_on_start, false) as suspended from cities where stream_id = ${streamId}`.execute(db);
    return rows[0]?.suspended;
  }
}
