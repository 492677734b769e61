import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';
import type { DiskLevel } from '../../../platform/disk/disk.js';

export interface WatchedCity {
  readonly streamId: number;
  readonly name: string;
  readonly path: string;
  readonly disk: DiskLevel;
}

/** The SQL of looking at disks. */
@Injectable()
export class DiskWatchRepository {
  constructor(private readonly db: Db) {}

  /** Takes cities whose disk is to be looked at: nobody else looks at them for `everyMs`. */
  async take(limit: number, everyMs: number): Promise<WatchedCity[]> {
    const { rows } = await sql<WatchedCity>`
      with due as (
        select stream_id from maintenance_cities where look_at <= now() order by look_at limit ${limit} for update skip locked
      ), taken as (
        update maintenance_cities m set look_at = clock_timestamp() + ${everyMs} * interval '1 millisecond'
        from due d where m.stream_id = d.stream_id returning m.stream_id, m.disk
      ) select t.stream_id as "streamId", c.name, c.dir as path, t.disk from taken t join cities c on c.stream_id = t.stream_id and c.running`.execute(
      this.db,
    );
    return rows;
  }

  /** False when somebody else has found it meanwhile, or nobody watches it any more. */
  async change(tx: Tx, streamId: number, before: DiskLevel, after: DiskLevel): Promise<boolean> {
    const { numAffectedRows } = await sql`
      update maintenance_cities set disk = ${after} where stream_id = ${streamId} and disk = ${before} and settings is not null`.execute(
      tx,
    );
    return numAffectedRows === 1n;
  }
}
