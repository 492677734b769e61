import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { DuePoller } from '../../../../platform/database/due-poller.js';
import { AppLogger } from '../../../../platform/logging/logger.js';
import { StoodBack, sweepDue, type DueSource } from '../../../work/work/due-sweep.js';
import { WorkService } from '../../../work/work/work.service.js';
import { GateOpening } from './gate-opening.service.js';
import { GatesRepository } from './gates.repository.js';

const TICK_MS = 1_000;

/** Looks at gates when they are due. Any number of workers may do so at once: each is looked at again under its city's lock. */
@Injectable()
export class GatesReconciler implements OnApplicationBootstrap {
  readonly #due: DueSource = {
    name: 'gates',
    back: new StoodBack(),
    nextDue: (except, limit) => this.repository.nextDue(except, limit),
    look: (work, ids, isLate) => this.gates.look(work, ids, isLate),
  };
  readonly #heard: DueSource = {
    name: 'gates that have heard of a message',
    back: new StoodBack(),
    nextDue: (except, limit) => this.repository.nextHeard(except, limit),
    look: (work, ids, isLate) => this.gates.lookHeard(work, ids, isLate),
  };

  constructor(
    private readonly repository: GatesRepository,
    private readonly gates: GateOpening,
    private readonly work: WorkService,
    private readonly log: AppLogger,
    private readonly due: DuePoller,
  ) {}

  onApplicationBootstrap(): void {
    this.due.repeat({ name: 'gates of runs', everyMs: TICK_MS, due: this.repository.isDue, work: (signal) => this.sweep(signal) });
    const { name } = this.#heard;
    this.due.repeat({ name, everyMs: TICK_MS, due: this.repository.isHeard, work: (signal) => this.sweepHeard(signal) });
  }

  /** Returns how many gates were decided. */
  sweep(signal?: AbortSignal): Promise<number> {
    return sweepDue(this.#due, this.work, this.log, signal);
  }

  /** As `sweep`, of gates that a message opens. Those that come due meanwhile do not wait for it. */
  sweepHeard(signal?: AbortSignal): Promise<number> {
    return sweepDue(this.#heard, this.work, this.log, signal);
  }
}
