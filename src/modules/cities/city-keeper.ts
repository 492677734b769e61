import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { AppConfig } from '../../platform/config/config.js';
import { Db } from '../../platform/database/database.js';
import { Transactions } from '../../platform/database/transactions.js';
import { EventLog } from '../../platform/event-log/event-log.js';
import { Lifecycle } from '../../platform/health/lifecycle.js';
import { AppLogger } from '../../platform/logging/logger.js';
import { sleep } from '../../platform/time/clock.js';
import { CityBringUp, CityLost } from './city-bringup.js';
import { CityStateRepository, type FailedCity, type Failure, type HeldCity } from './city-state.repository.js';
import { configHash } from './config/city-files.js';

const TICK_MS = 1_000;
/** Failed cities looked at in one tick; the due ones come first. */
const BATCH = 200;
const AT_ONCE = 4;

/**
 * Keeps trying cities that failed to come up: after their pause, and at once when their files change. Every worker
 * runs one; a city's row decides which of them tries. A late success is told by `controller.started` alone.
 */
@Injectable()
export class CityKeeper implements OnApplicationBootstrap {
  readonly #stop = new AbortController();
  #loop: Promise<void> = Promise.resolve();

  constructor(
    private readonly config: AppConfig,
    private readonly state: CityStateRepository,
    private readonly bringUp: CityBringUp,
    private readonly db: Db,
    private readonly transactions: Transactions,
    private readonly eventLog: EventLog,
    private readonly log: AppLogger,
    private readonly lifecycle: Lifecycle,
  ) {}

  onApplicationBootstrap(): void {
    this.#loop = this.#run();
    this.lifecycle.onStop('worker', 'city keeper', () => {
      this.#stop.abort();
      return this.#loop;
    });
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        await this.tick();
      } catch (error) {
        this.log.warn({ err: error }, 'waiting cities could not be looked at');
      }
      await sleep(TICK_MS, signal);
    }
  }

  /** One look at the waiting cities. */
  async tick(): Promise<void> {
    const waiting = await this.state.waiting(this.db, BATCH);
    const next = waiting.values();
    const work = async (): Promise<void> => {
      for (const city of next) {
        if (this.#stop.signal.aborted) return;
        await this.#look(city);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }

  async #look(city: FailedCity): Promise<void> {
    if (!city.due && (await configHash(city.dir)) === city.config_hash) return;
    const held = await this.transactions.run((tx) => this.state.takeForRetry(tx, city.id, this.config.processId));
    if (held !== undefined) await this.#retry(held);
  }

  async #retry(held: HeldCity): Promise<void> {
    try {
      const result = await this.bringUp.run(held, () => Promise.resolve(this.#stop.signal.throwIfAborted()));
      if ('failure' in result) await this.#failed(held, result.failure);
      else {
        await this.transactions.run(async (tx) => this.eventLog.append(tx, await this.bringUp.succeed(tx, held, result.found)), {
          key: held.name,
        });
        this.log.info({ city: held.name }, 'a city that had failed came up');
      }
    } catch (error) {
      if (error instanceof CityLost || this.#stop.signal.aborted) return;
      this.log.warn({ err: error, city: held.name }, 'a retry broke off');
      const failure: Failure = {
        code: 'internal_error',
        message: 'the initialization broke off',
        failureClass: 'transient',
        configHash: null,
      };
      await this.#failed(held, failure).catch(() => undefined); // the lease runs out and the next tick tries again
    }
  }

  async #failed(held: HeldCity, failure: Failure): Promise<void> {
    await this.transactions.run((tx) => this.bringUp.fail(tx, held, failure), { key: held.name });
  }
}
