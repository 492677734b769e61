import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { DueLooks } from '../../../../platform/database/due-looks.js';
import { AppLogger } from '../../../../platform/logging/logger.js';
import { StoodBack, sweepDue } from '../../../work/work/due-sweep.js';
import type { Work } from '../../../work/work/work.js';
import { WorkService } from '../../../work/work/work.service.js';
import { GateOpening } from './gate-opening.service.js';
import { GatesRepository } from './gates.repository.js';

const TICK_MS = 1_000;

/** Looks at gates when they are due. Any number of workers may do so at once: each is looked at again under its city's lock. */
@Injectable()
export class GatesReconciler implements OnApplicationBootstrap {
  readonly #back = new StoodBack();
  readonly #heardBack = new StoodBack();

  constructor(
    private readonly repository: GatesRepository,
    private readonly gates: GateOpening,
    private readonly work: WorkService,
    private readonly log: AppLogger,
    private readonly due: DueLooks,
  ) {}

  onApplicationBootstrap(): void {
    this.due.repeat({ name: 'gates of runs', everyMs: TICK_MS, due: this.repository.isDue, work: (signal) => this.sweep(signal) });
    const name = 'gates that have heard of a message';
    this.due.repeat({ name, everyMs: TICK_MS, due: this.repository.isHeard, work: (signal) => this.sweepHeard(signal) });
  }

  /** Returns how many gates were decided. */
  sweep(signal?: AbortSignal): Promise<number> {
    const source = {
      name: 'gates',
      back: this.#back,
      nextDue: (except: readonly number[], limit: number) => this.repository.nextDue(except, limit),
      look: (work: Work, ids: readonly string[], isLate: () => boolean) => this.gates.look(work, ids, isLate),
    };
    return sweepDue(source, this.work, this.log, signal);
  }

  /** As `sweep`, of gates that a message opens. Those that come due meanwhile do not wait for it. */
  sweepHeard(signal?: AbortSignal): Promise<number> {
    const source = {
      name: 'gates that have heard of a message',
      back: this.#heardBack,
      nextDue: (except: readonly number[], limit: number) => this.repository.nextHeard(except, limit),
      look: (work: Work, ids: readonly string[], isLate: () => boolean) => this.gates.lookHeard(work, ids, isLate),
    };
    return sweepDue(source, this.work, this.log, signal);
  }
}
