import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { DueLooks } from '../../../../platform/database/due-looks.js';
import { AppLogger } from '../../../../platform/logging/logger.js';
import { sweepDue } from '../../../work/work/due-sweep.js';
import type { Work } from '../../../work/work/work.js';
import { WorkService } from '../../../work/work/work.service.js';
import { RunKeeper } from '../run-keeper.js';
import { ContinuationsRepository } from './continuations.repository.js';

const TICK_MS = 1_000;

interface Failed {
  readonly streamId: number;
  readonly run: string;
}

/** Goes on with runs that decide by themselves for longer than one transaction: one of a city in a turn, some rounds of it, and not again within the next second, which is its other writers'. */
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
  async sweep(signal?: AbortSignal): Promise<number> {
    const failed: Failed[] = [];
    const source = {
      name: 'runs that go on',
      nextDue: (except: readonly number[]) => this.repository.nextDue(except),
      look: (work: Work, ids: readonly string[]) => this.#look(work, ids, failed),
    };
    const went = await sweepDue(source, this.work, this.log, signal);
    // Their transactions are undone: what stands is that they were asked for the first.
    for (const { streamId, run } of failed) await this.repository.putOff(streamId, run);
    return went;
  }

  async #look(work: Work, ids: readonly string[], failed: Failed[]): Promise<number> {
    const { streamId } = work.city;
    const taken = await this.repository.take(work.tx, streamId, ids);
    for (const { run, begun } of taken)
      try {
        await this.keeper.goOn(work, run, begun);
      } catch (error) {
        failed.push({ streamId, run });
        throw error;
      }
    return taken.length;
  }
}
