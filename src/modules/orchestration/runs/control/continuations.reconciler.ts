import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { DueLooks } from '../../../../platform/database/due-looks.js';
import { AppLogger } from '../../../../platform/logging/logger.js';
import { sweepDue } from '../../../work/work/due-sweep.js';
import type { Work } from '../../../work/work/work.js';
import { WorkService } from '../../../work/work/work.service.js';
import { RunKeeper } from '../run-keeper.js';
import { ContinuationsRepository } from './continuations.repository.js';

const TICK_MS = 1_000;

/** Goes on with runs that decide by themselves for longer than one transaction: one of a city in a turn, so that its other writers get in between. */
@Injectable()
export class ContinuationsReconciler implements OnApplicationBootstrap {
  constructor(
    private readonly repository: ContinuationsRepository,
    private readonly keeper: RunKeeper,
    private readonly work: WorkService,
    private readonly log: AppLogger,
    private readonly due: DueLooks,
  ) {}

  onApplicationBootstrap(): void {
    this.due.repeat({ name: 'runs that go on', everyMs: TICK_MS, due: this.repository.isDue, work: (signal) => this.sweep(signal) });
  }

  /** Returns how many runs went on. */
  sweep(signal?: AbortSignal): Promise<number> {
    const source = {
      name: 'runs that go on',
      nextDue: (except: readonly number[]) => this.repository.nextDue(except),
      look: (work: Work, ids: readonly string[]) => this.#look(work, ids),
    };
    return sweepDue(source, this.work, this.log, signal);
  }

  async #look(work: Work, ids: readonly string[]): Promise<number> {
    const taken = await this.repository.take(work.tx, work.city.streamId, ids);
    for (const run of taken) await this.keeper.goOn(work, run);
    return taken.length;
  }
}
