import { Injectable } from '@nestjs/common';
import type { Kysely } from 'kysely';
import type { SessionRest } from '../../../contract/sessions.schemas.js';
import { Db, type Database } from '../../../platform/database/database.js';
import { EMPTY_FOR, endedRunsOf, restsAfter, type EndedRun, type EndedRuns } from './empty-runs.js';
import { EmptyRunsRepository, type EmptyRunRow } from './empty-runs.repository.js';

/** Pools whose members come to nothing: those that find work and take none of it, and those that have nothing to do. */
@Injectable()
export class EmptyRunsService {
  constructor(
    private readonly db: Db,
    private readonly repository: EmptyRunsRepository,
  ) {}

  async of(db: Kysely<Database>, streamId: number): Promise<EndedRuns> {
    return endedRunsOf((await this.repository.runs(db, streamId)).map(toRun));
  }

  /** Those that rest for it now, by the names of agents and members. */
  async rests(streamId: number): Promise<Map<string, SessionRest>> {
    const rows = await this.repository.runs(this.db, streamId);
    return restsAfter(endedRunsOf(rows.map(toRun)), rows[0]?.now.getTime() ?? 0);
  }
}

function toRun({ template, member, empty, empty_for: left, ended, at }: EmptyRunRow): EndedRun {
  return {
    template,
    member,
    empty: empty ? EMPTY_FOR.filter((one) => left.split(',').includes(one)) : undefined,
    ended: ended ?? undefined,
    at: at.getTime(),
  };
}
