import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import { repeat } from '../../../platform/health/repeat.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { WorkService } from '../../work/work.service.js';
import { GateOpening } from './gate-opening.service.js';
import { GatesRepository } from './gates.repository.js';

const TICK_MS = 1_000;
const BATCH = 100;

/** Looks at gates when they are due. Any number of workers may do so at once: each is looked at again under its city's lock. */
@Injectable()
export class GatesReconciler implements OnApplicationBootstrap {
  constructor(
    private readonly repository: GatesRepository,
    private readonly gates: GateOpening,
    private readonly work: WorkService,
    private readonly log: AppLogger,
    private readonly lifecycle: Lifecycle,
  ) {}

  onApplicationBootstrap(): void {
    repeat(this.lifecycle, this.log, { name: 'gates of runs', everyMs: TICK_MS, work: (signal) => this.sweep(signal) });
  }

  /** Looks at whatever is due, city by city; one that fails does not hold up the others. Returns how many gates were decided. */
  async sweep(signal?: AbortSignal): Promise<number> {
    const done: number[] = [];
    let decided = 0;
    while (signal?.aborted !== true) {
      const due = await this.repository.nextDue(done, BATCH);
      if (due === undefined) break;
      const { streamId, name } = due.city;
      try {
        decided += (await this.work.run(due.city, 'reconciler', (work) => this.gates.look(work, due.ids))).value;
        if (due.ids.length < BATCH) done.push(streamId);
      } catch (error) {
        done.push(streamId);
        this.log.warn({ err: error, city: name }, 'gates could not be looked at; the next turn tries again');
      }
    }
    return decided;
  }
}
