import { Injectable } from '@nestjs/common';
import type { Kysely } from 'kysely';
import type { SessionRest } from '../../../contract/sessions.schemas.js';
import { Db, type Database } from '../../../platform/database/database.js';
import type { CityConfig } from '../../files/composition/city-config.js';
import { EMPTY_FOR, endedRunsOf, restsAfter, type EndedRun, type EndedRuns } from './empty-runs.js';
import { EmptyRunsRepository, type EmptyRunRow } from './empty-runs.repository.js';
import type { SessionRow } from './session-row.js';

/** A digest of all that a session would be started from now; undefined when nothing says so any more. */
export type StartHash = (config: CityConfig, row: Pick<SessionRow, 'kind' | 'template' | 'options'>) => string | undefined;

/** Pools whose members come to nothing: those that find work and take none of it, and those that have nothing to do. */
@Injectable()
export class EmptyRunsService {
  #startHash: StartHash = () => undefined;

  constructor(
    private readonly db: Db,
    private readonly repository: EmptyRunsRepository,
  ) {}

  /** What sessions are started from knows whoever starts them: registered once, before anybody asks. */
  startsFrom(startHash: StartHash): void {
    this.#startHash = startHash;
  }

  /** By what the city runs. */
  async of(db: Kysely<Database>, streamId: number, config: CityConfig): Promise<EndedRuns> {
    const rows = await this.repository.runs(db, streamId);
    return endedRunsOf(this.#counted(rows, config));
  }

  /** Those that rest for it now, by the names of agents and members. `config`, what the city runs, is asked where there are any. */
  async rests(streamId: number, config: () => Promise<CityConfig | undefined>): Promise<Map<string, SessionRest>> {
    const rows = await this.repository.runs(this.db, streamId);
    const known = rows.some(({ empty }) => empty) ? await config() : undefined;
    return restsAfter(endedRunsOf(this.#counted(rows, known)), rows[0]?.now.getTime() ?? 0);
  }

  /**
   * Without those that came to nothing and were started from something else than the next ones would be: that may be what was wrong. The newest
   * of a member counts all the same where the one before it was started from something else again: what members write may be part of that.
   * For the work of their pool the newest of all members does, as in the look that finds it.
   */
  #counted(rows: readonly EmptyRunRow[], config: CityConfig | undefined): readonly EndedRun[] {
    if (config === undefined) return rows.map(toRun);
    const hashes = new Map<string, string | undefined>();
    const now = ({ template, options }: EmptyRunRow): string | undefined => {
      const key = JSON.stringify([template, options]);
      if (!hashes.has(key)) hashes.set(key, this.#startHash(config, { kind: 'agent', template, options }));
      return hashes.get(key);
    };
    const isMended = (row: EmptyRunRow): boolean => row.empty && row.tried_hash !== null && row.tried_hash !== (now(row) ?? row.tried_hash);
    const whoseOf = ({ template, member }: EmptyRunRow): string => JSON.stringify([template, member]);
    const members = Map.groupBy(
      rows.filter(({ empty }) => empty),
      whoseOf,
    );
    const changes = (row: EmptyRunRow): boolean => {
      const [newest, before] = members.get(whoseOf(row))!;
      return row === newest && before !== undefined && before.tried_hash !== row.tried_hash;
    };
    const told = new Set<string>();
    return rows.flatMap((row) => {
      const run = toRun(row);
      if (!isMended(row)) return [run];
      if (!changes(row)) return [];
      const { empty: empty_for = [] } = run;
      const empty = empty_for.filter((one) => one !== 'pool' || !told.has(row.template));
      if (empty.includes('pool')) told.add(row.template);
      return [{ ...run, empty, mended: true }];
    });
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
