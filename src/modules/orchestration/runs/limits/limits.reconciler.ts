import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { DuePoller } from '../../../../platform/database/due-poller.js';
import { AppLogger } from '../../../../platform/logging/logger.js';
import { StoodBack, sweepDue } from '../../../work/work/due-sweep.js';
import type { Work } from '../../../work/work/work.js';
import { WorkService } from '../../../work/work/work.service.js';
import { LimitsRepository } from './limits.repository.js';

const TICK_MS = 1_000;
/** Why a step was ended, as reports say it. */
const LATE = 'step_timeout';

/** Ends rounds of checks that take longer than their step allows: the round has failed, and the next one begins. */
@Injectable()
export class LimitsReconciler implements OnApplicationBootstrap {
  readonly #back = new StoodBack();

  constructor(
    private readonly repository: LimitsRepository,
    private readonly work: WorkService,
    private readonly log: AppLogger,
    private readonly due: DuePoller,
  ) {}

  onApplicationBootstrap(): void {
    this.due.repeat({ name: 'limits of steps', everyMs: TICK_MS, due: this.repository.isDue, work: (signal) => this.sweep(signal) });
  }

  /** Returns how many steps were ended. */
  sweep(signal?: AbortSignal): Promise<number> {
    const source = {
      name: 'limits of steps',
      back: this.#back,
      nextDue: (except: readonly number[], limit: number) => this.repository.nextDue(except, limit),
      look: (work: Work, ids: readonly string[], isLate: () => boolean) => this.#look(work, ids, isLate),
    };
    return sweepDue(source, this.work, this.log, signal);
  }

  async #look(work: Work, ids: readonly string[], isLate: () => boolean): Promise<number> {
    const late = await this.repository.late(work.tx, work.city.streamId, ids);
    let ended = 0;
    for (const { bead_id: id, limit_ms: limit } of late) {
      // What the first one takes with it has ended already.
      if ((await work.require(id)).status === 'closed') continue;
      const reason = `it was not done within ${limit / 1000} s of its beginning`;
      await work.update(id, {
        status: 'closed',
        metadata: { 'gc.outcome': 'fail', 'gc.failure_class': 'transient', 'gc.failure_reason': LATE, close_reason: reason },
      });
      ended++;
      if (isLate()) break;
    }
    return ended;
  }
}
