import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../platform/database/database.js';
import { PassedOver } from '../../../platform/database/passed-over.js';
import type { Tx } from '../../../platform/database/transactions.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';

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
   * Locks up to `limit` beads of the city whose lease has ended, the longest ended first. A heartbeat that is under way is
   * waited for, and its bead is left out; one that comes later waits for the caller's commit.
   */
  async lockEnded(tx: Tx, streamId: number, limit: number): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      select b.id from beads b where b.stream_id = ${streamId} and b.lease_until < clock_timestamp()
      order by b.lease_until, b.id limit ${limit} for update`.execute(tx);
    return rows.map((row) => row.id);
  }
}
