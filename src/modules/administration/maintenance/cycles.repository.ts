import { Injectable } from '@nestjs/common';
import { sql, type Kysely } from 'kysely';
import { Db, type Database } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';
import type { DiskLevel } from '../../../platform/disk/disk.js';
import type { CycleEnd, CycleRow, KeptCity } from './cycle-row.js';
import type { MaintenanceSettings } from './settings.js';

/** What is known of a city's maintenance beside its cycles. */
export interface CityRow {
  readonly settings: MaintenanceSettings | null;
  readonly next_at: Date | null;
  readonly disk: DiskLevel;
}

/** Of each city, beside the one that is open. */
const KEPT = 100;
const HELD = sql`state = 'running' and lease_until >= clock_timestamp()`;
const LOST = sql`state = 'running' and lease_until < clock_timestamp()`;

/**
 * The SQL of cycles, from their beginning to their end. A transaction that changes a city's row and its cycles locks the row first: an insertion waits for the
 * transaction that ends the open cycle.
 */
@Injectable()
export class CyclesRepository {
  constructor(private readonly db: Db) {}

  async city(streamId: number, db: Kysely<Database> = this.db): Promise<KeptCity | undefined> {
    const { rows } = await sql<KeptCity>`select id, name, dir as path, running from cities where stream_id = ${streamId}`.execute(db);
    return rows[0];
  }

  async kept(streamId: number): Promise<CityRow | undefined> {
    const { rows } = await sql<CityRow>`select settings, next_at, disk from maintenance_cities where stream_id = ${streamId}`.execute(
      this.db,
    );
    return rows[0];
  }

  /** The row of a city, which is made when there is none. */
  async lock(tx: Tx, streamId: number): Promise<CityRow> {
    await sql`insert into maintenance_cities (stream_id) values (${streamId}) on conflict do nothing`.execute(tx);
    const { rows } = await sql<CityRow>`
      select settings, next_at, disk from maintenance_cities where stream_id = ${streamId} for update`.execute(tx);
    return rows[0]!;
  }

  /** The one guarantee that a city has one cycle at a time: undefined while there is another. */
  async insert(tx: Tx, streamId: number, settings: MaintenanceSettings): Promise<CycleRow | undefined> {
    const { rows } = await sql<CycleRow>`
      insert into maintenance_cycles (stream_id, cause, settings) values (${streamId}, 'request', ${JSON.stringify(settings)}::jsonb)
      on conflict (stream_id) where state <> 'done' do nothing returning *`.execute(tx);
    return rows[0];
  }

  async open(streamId: number, db: Kysely<Database> = this.db): Promise<CycleRow | undefined> {
    const { rows } = await sql<CycleRow>`select * from maintenance_cycles where stream_id = ${streamId} and state <> 'done'`.execute(db);
    return rows[0];
  }

  async find(pk: number): Promise<CycleRow | undefined> {
    const { rows } = await sql<CycleRow>`select * from maintenance_cycles where pk = ${pk}`.execute(this.db);
    return rows[0];
  }

  /** The newest that are over, oldest first. */
  async history(streamId: number, limit: number): Promise<CycleRow[]> {
    const { rows } = await sql<CycleRow>`
      select * from maintenance_cycles where stream_id = ${streamId} and state = 'done' order by pk desc limit ${limit}`.execute(this.db);
    return rows.reverse();
  }

  /** Begins due cycles of running cities, as long as fewer than `waiting` cycles wait for a worker. Returns how many began. */
  async schedule(tx: Tx, waiting: number): Promise<number> {
    const { rows } = await sql<{ began: number }>`
      with due as (
        select m.stream_id, m.settings from maintenance_cities m join cities c on c.stream_id = m.stream_id and c.running
        where m.next_at <= now() order by m.next_at
        limit greatest(0, ${waiting} - (select count(*) from maintenance_cycles where state = 'queued')) for update of m skip locked
      ), taken as (
        update maintenance_cities m set next_at = null from due d where m.stream_id = d.stream_id
      ), begun as (
        insert into maintenance_cycles (stream_id, cause, settings) select stream_id, 'schedule', settings from due
        on conflict (stream_id) where state <> 'done' do nothing returning 1
      ) select count(*)::int as began from begun`.execute(tx);
    return rows[0]!.began;
  }

  readonly isDue = sql<boolean>`exists (select from maintenance_cycles where state = 'queued')`;
  readonly isLost = sql<boolean>`exists (select from maintenance_cycles where ${LOST})`;

  /** Claims the cycles that have waited longest for this worker, and returns them. */
  async claim(tx: Tx, worker: string, limit: number, leaseMs: number): Promise<CycleRow[]> {
    const { rows } = await sql<CycleRow>`
      update maintenance_cycles set state = 'running', worker = ${worker}, begun_at = coalesce(begun_at, clock_timestamp()),
        lease_until = clock_timestamp() + ${leaseMs} * interval '1 millisecond'
      where pk in (select pk from maintenance_cycles where state = 'queued' order by pk limit ${limit} for update skip locked)
      returning *`.execute(tx);
    return rows;
  }

  /** Answers which of these are this worker's still. */
  async renew(worker: string, pks: readonly number[], leaseMs: number): Promise<Set<number>> {
    const { rows } = await sql<{ pk: number }>`
      update maintenance_cycles set lease_until = clock_timestamp() + ${leaseMs} * interval '1 millisecond'
      where pk = any(${[...pks]}::bigint[]) and worker = ${worker} and ${HELD} returning pk`.execute(this.db);
    return new Set(rows.map(({ pk }) => pk));
  }

  /** False when it is not this worker's any more. */
  async enter(pk: number, worker: string, stage: CycleRow['stage']): Promise<boolean> {
    const { numAffectedRows } = await sql`
      update maintenance_cycles set stage = ${stage} where pk = ${pk} and worker = ${worker} and ${HELD}`.execute(this.db);
    return numAffectedRows === 1n;
  }

  /** It waits for another worker. */
  async giveBack(tx: Tx, pk: number, worker: string): Promise<boolean> {
    const { numAffectedRows } = await sql`
      update maintenance_cycles set state = 'queued', worker = null, lease_until = null
      where pk = ${pk} and worker = ${worker} and ${HELD}`.execute(tx);
    return numAffectedRows === 1n;
  }

  /** Those whose workers have not been heard of for too long. */
  async lost(limit: number): Promise<CycleRow[]> {
    const { rows } = await sql<CycleRow>`select * from maintenance_cycles where ${LOST} order by lease_until limit ${limit}`.execute(
      this.db,
    );
    return rows;
  }

  /** @param worker whose it has to be; undefined for one whose lease has run out */
  async end(tx: Tx, pk: number, worker: string | undefined, end: CycleEnd): Promise<CycleRow | undefined> {
    const { stage, error = null, skipped = null, beforeBytes, afterBytes, liveRows, removed = {}, warnings = [] } = end;
    const whose = worker === undefined ? LOST : sql`worker = ${worker} and ${HELD}`;
    const { rows } = await sql<CycleRow>`
      update maintenance_cycles set state = 'done', worker = null, lease_until = null, finished_at = clock_timestamp(), stage = ${stage},
        error = ${error}, skipped = ${skipped}, before_bytes = ${beforeBytes ?? 0}, after_bytes = ${afterBytes ?? beforeBytes ?? 0},
        live_rows = ${liveRows ?? 0}, removed = ${JSON.stringify(removed)}::jsonb, warnings = ${JSON.stringify(warnings)}::jsonb
      where pk = ${pk} and ${whose} returning *`.execute(tx);
    return rows[0];
  }

  /** When the next one comes, and what of its history a city keeps. */
  async settle(tx: Tx, streamId: number, nextAt: Date | null): Promise<void> {
    await sql`update maintenance_cities set next_at = ${nextAt} where stream_id = ${streamId}`.execute(tx);
    await sql`
      delete from maintenance_cycles where state = 'done' and stream_id = ${streamId} and pk < (
        select min(pk) from (select pk from maintenance_cycles where stream_id = ${streamId} order by pk desc limit ${KEPT}) k)`.execute(
      tx,
    );
  }
}
