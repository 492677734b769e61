import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../../platform/database/database.js';
import type { Tx } from '../../../../platform/database/transactions.js';
import type { CityScope } from '../../../tenancy/cities/city-scope.js';
import type { Begun } from './facts.js';

/** A run whose turn it is. */
export interface DueRun {
  readonly city: CityScope;
  readonly run: string;
}

/** How long one that fails stands back: others of its city come first meanwhile. */
export const PUT_OFF_S = 30;

/** What waits for its turn leaves the city to its other writers. */
const DUE = sql`c.due_at <= clock_timestamp()`;

const OF_RUNNING = sql`run_continuations c join cities y on y.stream_id = c.stream_id and y.running`;

/** SQL of runs that go on in a transaction of their own, of which there are hardly ever any. */
@Injectable()
export class ContinuationsRepository {
  constructor(private readonly db: Db) {}

  /** Whether it is the turn of one, in whatever city that runs. */
  readonly isDue = sql<boolean>`exists (select from ${OF_RUNNING} where ${DUE})`;

  /** The run that has waited the longest, of a running city; `except` are streams to pass over. */
  async nextDue(except: readonly number[]): Promise<DueRun | undefined> {
    const { rows } = await sql<DueRun>`
      select json_build_object('id', y.id, 'name', y.name, 'path', y.dir, 'stream', y.name, 'streamId', y.stream_id) as city, c.run_id as run
      from ${OF_RUNNING} where ${DUE} and c.stream_id <> all(${[...except]}::integer[]) order by c.due_at limit 1`.execute(this.db);
    return rows[0];
  }

  /** Running cities in which it is the turn of a run within so many milliseconds, and in how many. */
  async soon(withinMs: number): Promise<{ readonly streamId: number; readonly ms: number }[]> {
    const { rows } = await sql<{ stream_id: number; ms: number }>`
      select c.stream_id, greatest(0, extract(epoch from min(c.due_at) - clock_timestamp()) * 1000)::double precision as ms
      from ${OF_RUNNING} where c.due_at <= clock_timestamp() + ${withinMs} * interval '1 millisecond' group by c.stream_id`.execute(
      this.db,
    );
    return rows.map(({ stream_id: streamId, ms }) => ({ streamId, ms }));
  }

  /** Takes a run that nobody else has taken meanwhile: one that has had its turn is there again, and not due. Answers what it had begun. */
  async take(tx: Tx, streamId: number, run: string): Promise<Begun | undefined> {
    const { rows } = await sql<{ begun: Readonly<Record<string, number>> }>`
      delete from run_continuations c where c.stream_id = ${streamId} and c.run_id = ${run} and ${DUE} returning c.begun`.execute(tx);
    return rows[0] && new Map(Object.entries(rows[0].begun));
  }

  /** Has one that could not go on stand back for a while. */
  async putOff(streamId: number, run: string): Promise<void> {
    await sql`
      update run_continuations set due_at = clock_timestamp() + make_interval(secs => ${PUT_OFF_S})
      where stream_id = ${streamId} and run_id = ${run}`.execute(this.db);
  }
}
