import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { DuePoller } from '../../../platform/database/due-poller.js';
import { Failpoints } from '../../../platform/failpoints/failpoints.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { atOnce } from '../../../platform/time/at-once.js';
import { newId } from '../../../platform/time/clock.js';
import { stepOf } from './fan-out.js';
import { FanOutsRepository, type DueFanOut } from './fan-outs.repository.js';
import { WorkService } from './work.service.js';

const EVERY_MS = 1_000;
const CITIES = 20;
const AT_ONCE = 2;

/**
 * Goes on with the fan-outs of all cities, a step of each in turn, so that the writers of a city get in between and a long one holds up no
 * other city. Any number of workers may: a step is a transaction, and where one dies another goes on behind its last.
 */
@Injectable()
export class FanOutKeeper implements OnApplicationBootstrap {
  readonly #holder = newId('fan');

  constructor(
    private readonly repository: FanOutsRepository,
    private readonly work: WorkService,
    private readonly failpoints: Failpoints,
    private readonly log: AppLogger,
    private readonly due: DuePoller,
  ) {}

  onApplicationBootstrap(): void {
    this.due.repeat({ name: 'fan-outs', everyMs: EVERY_MS, due: this.repository.isDue, work: (signal) => this.turn(signal) });
  }

  /** Goes on until there is nothing left that it can go on with. Answers how many steps it took. */
  async turn(signal?: AbortSignal): Promise<number> {
    const failed: number[] = [];
    let steps = 0;
    const one = async ({ city, bead }: DueFanOut): Promise<void> => {
      try {
        await this.work.run(city, 'reconciler', (work) => stepOf(work, this.repository, bead, this.#holder, this.work.limits.step));
        steps++;
        await this.failpoints.hit('fan_out.after_step');
      } catch (error) {
        failed.push(city.streamId);
        this.log.warn({ err: error, city: city.name, bead }, 'a fan-out could not go on; the next turn tries again');
      }
    };
    while (signal?.aborted !== true) {
      const due = await this.repository.due(this.#holder, failed, CITIES);
      if (due.length === 0) break;
      await atOnce(AT_ONCE, due, one, signal);
    }
    return steps;
  }
}
