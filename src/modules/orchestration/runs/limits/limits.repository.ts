import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../../platform/database/database.js';
import { PassedOver } from '../../../../platform/database/passed-over.js';
import type { Tx } from '../../../../platform/database/transactions.js';
import type { CityScope } from '../../../tenancy/cities/city-scope.js';

/** A step whose round has taken too long. */
export interface LateStep {
  readonly bead_id: string;
  readonly limit_ms: number;
}

/** SQL of how long the rounds of checks may take. Their clocks are started and stopped where beads change. */
@Injectable()
export class LimitsRepository {
  constructor(private readonly db: Db) {}

  readonly #passed = new PassedOver();

  /** Of steps that were late, those that are open still. */
  async late(tx: Tx, streamId: number, ids: readonly string[]): Promise<LateStep[]> {
    const { rows } = await sql<LateStep>`
      select s.bead_id, s.limit_ms from run_steps s
      where s.stream_id = ${streamId} and s.bead_id = any(${[...ids]}::text[]) and s.due_at <= clock_timestamp()
      order by s.due_at, length(s.bead_id), s.bead_id`.execute(tx);
    return rows;
  }

  /** Whether a limit has passed, in whatever city. */
  readonly isDue = sql<boolean>`(select s.due_at <= clock_timestamp() from run_steps s where s.due_at > ${this.#passed} order by s.due_at limit 1)`;

  async nextDue(except: readonly number[], limit: number): Promise<{ city: CityScope; ids: string[] } | undefined> {
    const from = this.#passed.from();
    const { rows } = await sql<{ city: CityScope; ids: string[] }>`
      with first as (
        select s.stream_id from run_steps s join cities y on y.stream_id = s.stream_id and y.running
        where s.due_at > ${from} and s.due_at <= clock_timestamp() and s.stream_id <> all(${[...except]}::integer[]) order by s.due_at limit 1)
      select json_build_object('id', y.id, 'name', y.name, 'path', y.dir, 'stream', y.name, 'streamId', y.stream_id) as city, array(
        select s.bead_id from run_steps s where s.stream_id = y.stream_id and s.due_at <= clock_timestamp() order by s.due_at limit ${limit}) as ids
      from first f join cities y on y.stream_id = f.stream_id`.execute(this.db);
    if (rows.length === 0 && except.length === 0) await this.#passed.foundNothing(this.db, from);
    return rows[0];
  }
}
