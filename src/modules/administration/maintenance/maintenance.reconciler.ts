import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { DuePoller } from '../../../platform/database/due-poller.js';
import { eachAlone } from '../../../platform/health/each-alone.js';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import { repeat } from '../../../platform/health/repeat.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import type { CycleRow } from './cycle-row.js';
import { Cycles } from './cycles.service.js';
import { CyclesRepository } from './cycles.repository.js';
import { DiskWatch } from './disk-watch.js';
import { SettingsSync } from './settings-sync.js';
import { StoreLook } from './store-look.js';
import { StoreRepository } from './store.repository.js';

const EVERY_MS = 5_000;
const DISKS_EVERY_MS = 30_000;
const LOST_EVERY_MS = 2_000;
const TABLES_EVERY_MS = 60_000;
const GROWTH_EVERY_MS = 5_000;
/** So many cycles wait for a worker at the most: a thousand cities may be due at once, and they can wait where they are. */
const WAITING = 20;
const LOST_AT_ONCE = 20;

/** Begins what is due, and ends what nobody carries out any more; looks at disks and tables. Every worker has one. */
@Injectable()
export class MaintenanceReconciler implements OnApplicationBootstrap {
  constructor(
    private readonly sync: SettingsSync,
    private readonly cycles: Cycles,
    private readonly repository: CyclesRepository,
    private readonly watch: DiskWatch,
    private readonly store: StoreRepository,
    private readonly tables: StoreLook,
    private readonly due: DuePoller,
    private readonly lifecycle: Lifecycle,
    private readonly log: AppLogger,
  ) {}

  onApplicationBootstrap(): void {
    const turn = async (signal: AbortSignal): Promise<void> => {
      await this.sync.follow(signal);
      await this.cycles.schedule(WAITING);
    };
    repeat(this.lifecycle, this.log, { name: 'maintenance', everyMs: EVERY_MS, work: turn });
    repeat(this.lifecycle, this.log, { name: 'disks', everyMs: DISKS_EVERY_MS, work: (signal) => this.watch.look(signal) });
    this.due.repeat({ name: 'lost cycles', everyMs: LOST_EVERY_MS, due: this.repository.isLost, work: () => this.sweep() });
    this.due.repeat({ name: 'tables', everyMs: TABLES_EVERY_MS, due: this.store.isDue, work: (signal) => this.tables.look(signal) });
    const follow = (signal: AbortSignal): Promise<void> => this.tables.follow(signal);
    this.due.repeat({ name: 'tables that have grown', everyMs: GROWTH_EVERY_MS, due: this.store.hasOutgrown, work: follow });
  }

  /** Ends the cycles whose workers have died. Answers how many. */
  async sweep(): Promise<number> {
    const alone = { failed: 'a lost cycle could not be ended', about: ({ pk: cycle }: CycleRow) => ({ cycle }) };
    return eachAlone(await this.repository.lost(LOST_AT_ONCE), this.log, alone, (cycle) => {
      const error = `the worker ${cycle.worker ?? ''} that carried it out was lost`;
      return this.cycles.end(cycle, undefined, { stage: cycle.stage, error });
    });
  }
}
