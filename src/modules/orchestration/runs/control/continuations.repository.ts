import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../../platform/database/database.js';
import type { Tx } from '../../../../platform/database/transactions.js';
import type { CityScope } from '../../../tenancy/cities/city-scope.js';

/** SQL of runs that go on in a transaction of their own, of which there are hardly ever any. */
@Injectable()
export class ContinuationsRepository {
  constructor(private readonly db: Db) {}

  /** Whether there is one, in whatever city. */
  readonly isDue = sql<boolean>`exists (select from run_continuations)`;

  /** The run that has waited the longest, of a running city; `except` are streams to pass over. */
  async nextDue(except: readonly number[]): Promise<{ city: CityScope; ids: string[] } | undefined> {
    const { rows } = await sql<{ city: CityScope; ids: string[] }>`
      select json_build_object('id', y.id, 'name', y.name, 'path', y.dir, 'stream', y.name, 'streamId', y.stream_id) as city, array[c.run_id] as ids
      from run_continuations c join cities y on y.stream_id = c.stream_id and y.running
      where c.stream_id <> all(${[...except]}::integer[]) order by c.asked_at limit 1`.execute(this.db);
    return rows[0];
  }

  /** Takes those of these that nobody else has taken meanwhile. */
  async take(tx: Tx, streamId: number, runs: readonly string[]): Promise<string[]> {
    const { rows } = await sql<{ run_id: string }>`
      delete from run_continuations where stream_id = ${streamId} and run_id = any(${[...runs]}::text[]) returning run_id`.execute(tx);
    return rows.map(({ run_id: run }) => run);
  }
}
