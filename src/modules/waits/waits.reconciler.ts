import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Lifecycle } from '../../platform/health/lifecycle.js';
import { repeat } from '../../platform/health/repeat.js';
import { AppLogger } from '../../platform/logging/logger.js';
import { expireWhenDue } from '../work/wait-states.js';
import { WorkService } from '../work/work.service.js';
import { WaitExpiryRepository, type DueWaits } from './wait-expiry.repository.js';

const TICK_MS = 1_000;
const BATCH = 200;

/** Ends the waits whose time has run out. Any number of workers may do so at once: each wait is looked at again under its city's lock. */
@Injectable()
export class WaitsReconciler implements OnApplicationBootstrap {
  constructor(
    private readonly repository: WaitExpiryRepository,
    private readonly work: WorkService,
    private readonly log: AppLogger,
    private readonly lifecycle: Lifecycle,
  ) {}

  onApplicationBootstrap(): void {
    repeat(this.lifecycle, this.log, { name: 'expired waits', everyMs: TICK_MS, work: (signal) => this.sweep(signal) });
  }

  /** Expires whatever is due, city by city; one that fails does not hold up the others. Returns how many waits expired. */
  async sweep(signal?: AbortSignal): Promise<number> {
    const done: number[] = [];
    let expired = 0;
    while (signal?.aborted !== true) {
      const due = await this.repository.nextDue(done, BATCH);
      if (due === undefined) break;
      const { streamId, name } = due.city;
      try {
        const ended = await this.#expire(due);
        expired += ended;
        if (ended < BATCH) done.push(streamId);
      } catch (error) {
        done.push(streamId);
        this.log.warn({ err: error, city: name }, 'waits could not be expired; the next turn tries again');
      }
    }
    return expired;
  }

  async #expire({ city, ids }: DueWaits): Promise<number> {
    const { value } = await this.work.run(city, 'reconciler', async (work) => {
      let expired = 0;
      for (const wait of await work.findAll(ids)) if ((await expireWhenDue(work, wait)) !== wait) expired++;
      return expired;
    });
    return value;
  }
}
