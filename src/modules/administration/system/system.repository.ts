import { Injectable } from '@nestjs/common';
import { sql, type Kysely } from 'kysely';
import type { Database } from '../../../platform/database/database.js';

export interface CityCounts {
  readonly total: number;
  readonly running: number;
  /** The phase of a city that is still on its way up; null when none is. */
  readonly starting: string | null;
}

@Injectable()
export class SystemRepository {
  async countCities(db: Kysely<Database>): Promise<CityCounts> {
    const { rows } = await sql<CityCounts>`
      select count(*) as total, count(*) filter (where running) as running,
             min(phase) filter (where not running and desired = 'running' and phase <> 'init_failed') as starting
      from cities`.execute(db);
    return rows[0]!;
  }
}
