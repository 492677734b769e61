import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import type { RawBuilder } from 'kysely';
import { AppConfig } from '../../../platform/config/config.js';
import { Db } from '../../../platform/database/database.js';
import { DuePoller } from '../../../platform/database/due-poller.js';
import { Transactions } from '../../../platform/database/transactions.js';
import { EventLog } from '../../../platform/event-log/event-log.js';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { Lease } from '../../../platform/operations/lease.js';
import { atOnce } from '../../../platform/time/at-once.js';
import type { Phase } from '../../tenancy/cities/city-phases.js';
import { CityBringUp, CityLost } from './city-bringup.js';
import { CityStateRepository, LEASE_MS, type FailedCity, type Failure, type HeldCity } from './city-state.repository.js';

const TICK_MS = 1_000;
/** The files of a failed city are looked at so often at least, however long that takes. */
const MOST_REST_MS = 60_000;
/** Failed cities looked at in one tick; the due ones come first. */
const BATCH = 200;
const AT_ONCE = 4;
/** Tries that go on at once. One may take minutes, for packs that come slowly, and must not keep all others waiting. */
const TRIES = 16;

/** Times in milliseconds, so that tests can shorten them. */
export class KeeperTimings {
  readonly renewMs: number = 10_000;
  /** Longer than packs may take to be fetched: a try that hangs does not keep its city from other workers for ever. */
  readonly tryMs: number = 10 * 60_000;
  /** Files of a failed city are looked at again after so many times as long as that took. */
  readonly rests: number = 20;

  constructor(overrides: Partial<KeeperTimings> = {}) {
    Object.assign(this, overrides);
  }
}

/**
 * Keeps trying cities that failed to come up: after their pause, and at once when their files change. Every worker
 * runs one; a city's row decides which of them tries. A late success is told by `controller.started` alone.
 */
@Injectable()
export class CityKeeper implements OnApplicationBootstrap {
  /** What is tried, by the city. */
  readonly #tries = new Map<number, Promise<void>>();
  /** Until when the files of a city are not looked at, by the city. */
  readonly #rests = new Map<number, number>();
  readonly #stop = new AbortController();

  constructor(
    private readonly config: AppConfig,
    private readonly state: CityStateRepository,
    private readonly bringUp: CityBringUp,
    private readonly db: Db,
    private readonly transactions: Transactions,
    private readonly eventLog: EventLog,
    private readonly log: AppLogger,
    private readonly due: DuePoller,
    private readonly timings: KeeperTimings,
    private readonly lifecycle: Lifecycle,
  ) {}

  onApplicationBootstrap(): void {
    this.lifecycle.onStop('worker', 'tries of cities', async () => {
      this.#stop.abort();
      await Promise.all(this.#tries.values());
    });
    this.due.repeat({ name: 'waiting cities', everyMs: TICK_MS, due: this.state.isWaiting, work: (signal) => this.#tick(signal) });
  }

  /** One look at the waiting cities; it ends when the last of them is tried, not when that has an end. */
  async #tick(signal: AbortSignal): Promise<void> {
    const found = await this.state.waiting(this.db, BATCH);
    for (const id of this.#rests.keys()) if (!found.some((city) => city.id === id)) this.#rests.delete(id);
    const waiting = found.filter(({ id }) => !this.#tries.has(id));
    await atOnce(AT_ONCE, waiting, (city) => this.#look(city, signal), signal);
  }

  async #look(city: FailedCity, signal: AbortSignal): Promise<void> {
    if (!city.due) {
      const hash = await this.#hashOf(city, signal);
      if (hash === undefined) return;
      // A failure from outside knows nothing of the city's files: they count as changed once they differ from now.
      if (city.config_hash === null) return this.state.rememberFiles(this.db, city.id, hash);
      if (hash === city.config_hash) return;
    }
    while (this.#tries.size >= TRIES) await Promise.race(this.#tries.values());
    if (signal.aborted || this.#stop.signal.aborted) return;
    const held = await this.state.takeForRetry(this.db, city.id, this.config.processId);
    if (held === undefined) return;
    const trying = this.#retry(held, this.#stop.signal).finally(() => this.#tries.delete(held.id));
    this.#tries.set(held.id, trying);
  }

  /** Undefined where the files are not to be looked at now: what takes long is not done every second. */
  async #hashOf({ id, dir }: FailedCity, signal: AbortSignal): Promise<string | undefined> {
    const begun = performance.now();
    if (begun < (this.#rests.get(id) ?? 0)) return undefined;
    try {
      const hash = await this.bringUp.hashOf(dir, signal);
      const now = performance.now();
      const rest = Math.min(MOST_REST_MS, this.timings.rests * (now - begun));
      // A disk that does not answer takes long, too: once it does, its files are looked at at once.
      if (hash !== undefined && rest > TICK_MS) this.#rests.set(id, now + rest);
      return hash;
    } catch (error) {
      if (signal.aborted) return undefined;
      throw error;
    }
  }

  async #retry(held: HeldCity, signal: AbortSignal): Promise<void> {
    // Fetching packs may take longer than the lease, and no phase is published meanwhile.
    const lease = new Lease(
      () => this.state.renew(this.db, held),
      { leaseMs: LEASE_MS, renewMs: this.timings.renewMs },
      this.timings.tryMs,
    );
    void lease.ended.then(() => lease.close());
    const ends = AbortSignal.any([signal, lease.signal]);
    try {
      const progress = async <T>(_: Phase, publish: RawBuilder<T>): Promise<T | undefined> => {
        ends.throwIfAborted();
        return (await publish.execute(this.db)).rows[0];
      };
      const result = await this.bringUp.run(held, progress, ends);
      if ('failure' in result) await this.#failed(held, result.failure);
      else {
        await this.transactions.run(
          async (tx) => {
            await this.state.lockWork(tx, held.name);
            await this.eventLog.append(tx, await this.bringUp.succeed(tx, held, result.found));
          },
          { key: held.name },
        );
        this.log.info({ city: held.name }, 'a city that had failed came up');
      }
    } catch (error) {
      if (error instanceof CityLost || signal.aborted || !lease.held) return;
      this.log.warn({ err: error, city: held.name }, 'a retry broke off');
      const failure: Failure = {
        code: 'internal_error',
        message: 'the initialization broke off',
        failureClass: 'transient',
        configHash: null,
      };
      await this.#failed(held, failure).catch(() => undefined); // the lease runs out and the next tick tries again
    } finally {
      lease.close();
    }
  }

  async #failed(held: HeldCity, failure: Failure): Promise<void> {
    await this.transactions.run((tx) => this.bringUp.fail(tx, held, failure), { key: held.name });
  }
}
