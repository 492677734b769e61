import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { ProblemError } from '../../../../contract/problems.js';
import { DuePoller } from '../../../../platform/database/due-poller.js';
import { AppLogger } from '../../../../platform/logging/logger.js';
import { sleep } from '../../../../platform/time/clock.js';
import type { Work } from '../../../work/work/work.js';
import { WorkService } from '../../../work/work/work.service.js';
import { RunKeeper } from '../run-keeper.js';
import { ContinuationsRepository, PUT_OFF_S, type DueRun } from './continuations.repository.js';
import { restAfter } from './rest.js';

const TICK_MS = 1_000;

/**
 * Goes on with runs that decide by themselves for longer than one transaction: one of a city in a turn, some rounds of it. After that the city has a rest,
 * whichever run of it is next, that is its other writers'.
 */
@Injectable()
export class ContinuationsReconciler implements OnApplicationBootstrap {
  constructor(
    private readonly repository: ContinuationsRepository,
    private readonly keeper: RunKeeper,
    private readonly work: WorkService,
    private readonly log: AppLogger,
    private readonly due: DuePoller,
  ) {}

  onApplicationBootstrap(): void {
    this.due.repeat({ name: 'runs that go on', everyMs: TICK_MS, due: this.repository.isDue, work: (signal) => this.goOn(signal) });
  }

  /** Takes turns until no run has one within the next second. */
  async goOn(signal: AbortSignal): Promise<void> {
    const resting = new Map<number, number>();
    while (!signal.aborted) {
      await this.sweep(signal, resting);
      const now = performance.now();
      const soon = (await this.repository.soon(TICK_MS)).map(({ streamId, ms }) => Math.max(ms, (resting.get(streamId) ?? now) - now));
      if (soon.length === 0) return;
      await sleep(Math.ceil(Math.min(...soon)), signal);
    }
  }

  /** A turn of each city that has one. `resting` are streams to pass over, and until when. Returns how many runs went on. */
  async sweep(signal?: AbortSignal, resting = new Map<number, number>()): Promise<number> {
    const began = performance.now();
    for (const [stream, until] of resting) if (until <= began) resting.delete(stream);
    let went = 0;
    while (signal?.aborted !== true) {
      const due = await this.repository.nextDue([...resting.keys()]);
      if (due === undefined) break;
      const since = performance.now();
      went += await this.#turn(due);
      const now = performance.now();
      resting.set(due.city.streamId, now + restAfter(now - since));
    }
    return went;
  }

  async #turn({ city, run }: DueRun): Promise<number> {
    let begun = false;
    try {
      const { value } = await this.work.run(city, 'reconciler', (work) => {
        begun = true;
        return this.#goOn(work, run);
      });
      return value;
    } catch (error) {
      // A city that has just stopped has no turn: its runs go on when it runs again.
      if (!begun && error instanceof ProblemError && error.problem === 'city_not_found') return 0;
      // Nothing of it stands but that it was asked for. Where the city was not to be had it is not the run's fault.
      if (begun) await this.repository.putOff(city.streamId, run);
      const next = begun ? `in ${PUT_OFF_S} s` : 'at the next turn';
      this.log.warn({ err: error, city: city.name, run }, `a run could not go on by itself; it is tried again ${next}`);
      return 0;
    }
  }

  async #goOn(work: Work, run: string): Promise<number> {
    const begun = await this.repository.take(work.tx, work.city.streamId, run);
    if (begun === undefined) return 0;
    await this.keeper.goOn(work, run, begun);
    return 1;
  }
}
