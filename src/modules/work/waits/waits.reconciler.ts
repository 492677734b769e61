import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { DuePoller } from '../../../platform/database/due-poller.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { StoodBack, sweepDue } from '../work/due-sweep.js';
import { expireWhenDue } from '../work/wait-states.js';
import type { Work } from '../work/work.js';
import { WorkService } from '../work/work.service.js';
import { WaitExpiryRepository } from './wait-expiry.repository.js';

const TICK_MS = 1_000;

/** Ends the waits whose time has run out. Any number of workers may do so at once: each wait is looked at again under its city's lock. */
@Injectable()
export class WaitsReconciler implements OnApplicationBootstrap {
  readonly #back = new StoodBack();

  constructor(
    private readonly repository: WaitExpiryRepository,
    private readonly work: WorkService,
    private readonly log: AppLogger,
    private readonly due: DuePoller,
  ) {}

  onApplicationBootstrap(): void {
    this.due.repeat({ name: 'expired waits', everyMs: TICK_MS, due: this.repository.isDue, work: (signal) => this.sweep(signal) });
  }

  /** Returns how many waits expired. */
  sweep(signal?: AbortSignal): Promise<number> {
    const source = {
      name: 'expired waits',
      back: this.#back,
      nextDue: (except: readonly number[], limit: number) => this.repository.nextDue(except, limit),
      look: (work: Work, ids: readonly string[], isLate: () => boolean) => this.#expire(work, ids, isLate),
    };
    return sweepDue(source, this.work, this.log, signal);
  }

  async #expire(work: Work, ids: readonly string[], isLate: () => boolean): Promise<number> {
    let expired = 0;
    for (const wait of await work.findAll(ids)) {
      if ((await expireWhenDue(work, wait)) !== wait) expired++;
      if (isLate()) break;
    }
    return expired;
  }
}
