import { Injectable } from '@nestjs/common';
import type { Kysely } from 'kysely';
import type { SessionRest } from '../../../contract/sessions.schemas.js';
import { Db, type Database } from '../../../platform/database/database.js';
import { restAfterEmptyRuns, type EmptyRuns } from './empty-runs.js';
import { EmptyRunsRepository, type EmptyRunRow } from './empty-runs.repository.js';

/** Pools whose members find work and take none of it, by their agents. */
@Injectable()
export class EmptyRunsService {
  constructor(
    private readonly db: Db,
    private readonly repository: EmptyRunsRepository,
  ) {}

  async of(db: Kysely<Database>, streamId: number): Promise<Map<string, EmptyRuns>> {
    return emptyRunsOf(await this.repository.runs(db, streamId));
  }

  /** Those that rest for it now. */
  async rests(streamId: number): Promise<Map<string, SessionRest>> {
    const rows = await this.repository.runs(this.db, streamId);
    const now = rows[0]?.now.getTime() ?? 0;
    const rests = [...emptyRunsOf(rows)].map(([agent, runs]) => [agent, restAfterEmptyRuns(runs, now)] as const);
    return new Map(rests.flatMap(([agent, rest]) => (rest === undefined ? [] : [[agent, rest]])));
  }
}

/** Runs without work since the last one that had some. */
function emptyRunsOf(rows: readonly EmptyRunRow[]): Map<string, EmptyRuns> {
  const runs = new Map<string, EmptyRuns>();
  const over = new Set<string>();
  for (const { template, empty, at } of rows) {
    if (!empty) over.add(template);
    if (over.has(template)) continue;
    const known = runs.get(template);
    runs.set(template, known === undefined ? { count: 1, lastAt: at.getTime() } : { ...known, count: known.count + 1 });
  }
  return runs;
}
