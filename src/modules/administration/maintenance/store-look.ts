import { Injectable } from '@nestjs/common';
import { AppLogger } from '../../../platform/logging/logger.js';
import { StoreRepository, type TableState } from './store.repository.js';

const EVERY_MS = 3_600_000;
/** Rows that are dead in a table when it is worth a word: so many, and that share. */
const DEAD_ROWS = 10_000;
const DEAD_SHARE = 0.3;
/** Commands of sessions that are done are looked at by nobody. */
const COMMAND_DAYS = 7;
const COMMANDS = 10_000;
/** Entries of sessions that are gone which one statement removes. */
const ORPHANS = 5_000;

/**
 * What is done for the tables, which all cities share: statistics that are behind are taken again, rows that belong to nothing go, and
 * dead rows that nobody cleans are told. Once an hour for the whole deployment, however many cities have their cycles, or none.
 */
@Injectable()
export class StoreLook {
  everyMs = EVERY_MS;
  /** A test sets a smaller one. */
  orphans = ORPHANS;

  constructor(
    private readonly repository: StoreRepository,
    private readonly log: AppLogger,
  ) {}

  /** Looks when nobody has for an hour. Answers what is wrong as far as it is known. */
  async look(signal: AbortSignal): Promise<readonly string[]> {
    if (await this.repository.take(this.everyMs)) await this.#look(signal);
    return this.repository.warnings();
  }

  /** Takes the statistics of tables anew that have outgrown them. Whoever comes second leaves a table to the first. */
  async follow(signal: AbortSignal): Promise<void> {
    for (const name of await this.repository.outgrown()) if (!signal.aborted) await this.repository.analyze(name);
  }

  async #look(signal: AbortSignal): Promise<void> {
    const tables = await this.repository.tables();
    for (const { name } of tables.filter(({ stale }) => stale)) {
      if (signal.aborted) return;
      await this.repository.analyze(name);
    }
    await this.repository.dropCommands(COMMAND_DAYS, COMMANDS);
    const { seen, dropped } = await this.#dropOrphans(signal);
    if (dropped > 0) this.log.info({ dropped }, 'what was said in sessions that are gone has been removed');
    const warnings = tables.flatMap(bloatOf);
    for (const warning of warnings) this.log.warn(warning);
    await this.repository.tell(warnings, seen);
  }

  async #dropOrphans(signal: AbortSignal): Promise<{ seen: number; dropped: number }> {
    for (let dropped = 0; ;) {
      const some = await this.repository.dropOrphans(this.orphans);
      dropped += some.dropped;
      if (some.dropped < this.orphans || signal.aborted) return { seen: some.seen, dropped };
    }
  }
}

export function bloatOf({ name, live, dead, vacuumed }: TableState): string[] {
  const share = dead / Math.max(1, live + dead);
  if (dead < DEAD_ROWS || share < DEAD_SHARE) return [];
  const since = vacuumed === null ? 'it was never cleaned' : `it was cleaned last at ${vacuumed.toISOString()}`;
  return [`${name}: ${Math.round(share * 100)} % of its rows are dead; ${since}`];
}
