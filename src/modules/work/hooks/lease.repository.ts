import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../platform/database/database.js';
import { PassedOver } from '../../../platform/database/passed-over.js';
import type { Tx } from '../../../platform/database/transactions.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';

/** Whoever has begun the bead has a process, as its session says. */
const LIVE = sql<boolean>`exists (select from sessions s
  where s.stream_id = b.stream_id and s.id = b.metadata ->> 'gc.session_id' and s.runner_id is not null and s.live)`;

/** SQL about leases that have ended. */
@Injectable()
export class LeaseRepository {
  constructor(private readonly db: Db) {}

  readonly #passed = new PassedOver();

  /** Whether a lease has ended, in whatever city. */
  readonly isDue = sql<boolean>`(select b.lease_until < now() from beads b where b.lease_until > ${this.#passed} order by b.lease_until limit 1)`;

  /** Running cities with ended leases. */
  async due(): Promise<CityScope[]> {
    const from = this.#passed.from();
    const { rows } = await sql<CityScope>`
      select c.id, c.name, c.dir as path, c.name as stream, c.stream_id as "streamId"
      from (select distinct b.stream_id from beads b where b.lease_until > ${from} and b.lease_until < now()) d
      join cities c on c.stream_id = d.stream_id and c.running
      order by c.id`.execute(this.db);
    if (rows.length === 0) await this.#passed.foundNothing(this.db, from);
    return rows;
  }

  /**
   * Extends ended leases of the city whose sessions have a process: such a session keeps what it has begun, however short a lease it has asked for, and
   * `ClaimsOfSessions.renew` comes more rarely than the shortest end.
   */
  async extendLive(tx: Tx, streamId: number): Promise<void> {
    await sql`
      update beads b set lease_until = clock_timestamp() + b.lease_ms * interval '1 millisecond'
      where b.stream_id = ${streamId} and b.lease_until < clock_timestamp() and b.status = 'in_progress' and ${LIVE}`.execute(tx);
  }

  /**
   * Locks up to `limit` beads of the city whose lease has ended, the longest ended first. A heartbeat that is under way is
   * waited for, and its bead is left out; one that comes later waits for the caller's commit.
   */
  async lockEnded(tx: Tx, streamId: number, limit: number): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select b.id from beads b where b.stream_id = ${streamId} and b.lease_until < clock_timestamp() and not ${LIVE}
      order by b.lease_until, b.id limit ${limit} for update`.execute(tx);
    return rows.map((row) => row.id);
  }
}
