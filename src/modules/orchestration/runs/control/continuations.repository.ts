import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../../platform/database/database.js';
import type { Tx } from '../../../../platform/database/transactions.js';
import type { CityScope } from '../../../tenancy/cities/city-scope.js';
import type { Begun } from './facts.js';

/** A run that goes on, with what `RunControl.goOn` had begun before. */
export interface Continuation {
  readonly run: string;
  readonly begun: Begun;
}

/** How long one that fails stands back: others of its city come first meanwhile. */
const PUT_OFF_S = 30;

/** What waits for its turn leaves the city to its other writers. */
const DUE = sql`c.due_at <= clock_timestamp()`;

/** SQL of runs that go on in a transaction of their own, of which there are hardly ever any. */
@Injectable()
export class ContinuationsRepository {
  constructor(private readonly db: Db) {}

  /** Whether it is the turn of one, in whatever city. */
  readonly isDue = sql<boolean>`exists (select from run_continuations c where ${DUE})`;

  /** The run that has waited the longest, of a running city; `except` are streams to pass over. */
  async nextDue(except: readonly number[]): Promise<{ city: CityScope; ids: string[] } | undefined> {
    const { rows } = await sql<{ city: CityScope; ids: string[] }>`
      select json_build_object('id', y.id, 'name', y.name, 'path', y.dir, 'stream', y.name, 'streamId', y.stream_id) as city, array[c.run_id] as ids
      from run_continuations c join cities y on y.stream_id = c.stream_id and y.running
      where ${DUE} and c.stream_id <> all(${[...except]}::integer[]) order by c.due_at limit 1`.execute(this.db);
    return rows[0];
  }

  /** Takes those of these that nobody else has taken meanwhile: a run that has had its turn is there again, and not due. */
  async take(tx: Tx, streamId: number, runs: readonly string[]): Promise<Continuation[]> {
    const { rows } = await sql<{ run_id: string; begun: Readonly<Record<string, number>> }>`
      delete from run_continuations c where c.stream_id = ${streamId} and c.run_id = any(${[...runs]}::text[]) and ${DUE}
      returning c.run_id, c.begun`.execute(tx);
    return rows.map(({ run_id: run, begun }) => ({ run, begun: new Map(Object.entries(begun)) }));
  }

  /** Has one that could not go on stand back for a while. */
  async putOff(streamId: number, run: string): Promise<void> {
    await sql`
      update run_continuations set due_at = clock_timestamp() + make_interval(secs => ${PUT_OFF_S})
      where stream_id = ${streamId} and run_id = ${run}`.execute(this.db);
  }
}
