import { Injectable } from '@nestjs/common';
import { AppLogger } from '../../../platform/logging/logger.js';
import { StoreRepository, type TableState } from './store.repository.js';

const EVERY_MS = 3_600_000;
/** A table with so many dead rows, and this share of them, is warned of. */
const DEAD_ROWS = 10_000;
const DEAD_SHARE = 0.3;
/** How long finished commands of sessions are kept, in days. Nothing reads them. */
const COMMAND_DAYS = 7;
/** Commands that one statement removes. */
const COMMANDS = 10_000;
/** Transcript entries of deleted sessions that one statement removes. */
const ORPHANS = 5_000;

/**
 * Looks after the tables that all cities share: analyzes those whose statistics are old, removes orphaned rows, and warns of dead rows that are not vacuumed. Once an
 * hour for the whole deployment, however many cities have maintenance cycles.
 */
@Injectable()
export class StoreLook {
  everyMs = EVERY_MS;
  /** Lower in tests. */
  orphans = ORPHANS;

  constructor(
    private readonly repository: StoreRepository,
    private readonly log: AppLogger,
  ) {}

  /** Looks if no replica has within the hour. Returns the known warnings. */
  async look(signal: AbortSignal): Promise<readonly string[]> {
    if (await this.repository.take(this.everyMs)) await this.#look(signal);
    return this.repository.warnings();
  }

  /** Analyzes tables that have outgrown their statistics. A replica leaves a table alone that another one is analyzing. */
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
