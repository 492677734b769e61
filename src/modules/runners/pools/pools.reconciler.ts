import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { AppConfig } from '../../../platform/config/config.js';
import { DuePoller } from '../../../platform/database/due-poller.js';
import { preparing } from '../../../platform/turns/preparing.js';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import { repeat } from '../../../platform/health/repeat.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { Signals } from '../../../platform/streams/signals.js';
import { atOnce } from '../../../platform/time/at-once.js';
import { AutoResetEvent } from '../../../platform/time/auto-reset-event.js';
import { sleep } from '../../../platform/time/clock.js';
import { ClaimsOfSessions } from '../../sessions/session-store/claims-of-sessions.service.js';
import { PoolPass } from './pool-pass.service.js';
import { PoolStateRepository, type PoolCity } from './pool-state.repository.js';
import { ScaleChecks } from './scale-checks.js';
import { WaitDelivery } from './wait-delivery.js';

const POLL_MS = 1_000;
/** Between two questions about all cities: hints may get lost. */
const ALL_MS = 10_000;
/** Hints are gathered for so long; what caused them has the machine for itself meanwhile. */
const GATHER_MS = 20;
const PAUSE_MS = 30;
const AT_ONCE = 4;
const CITIES_A_TURN = 200;
const RENEW_MS = 30_000;

/**
 * Keeps the sessions of all cities as they should be: at once where an event log moves, and a second later at the latest.
 * Every worker runs one; a city's lock decides which of them acts.
 */
@Injectable()
export class PoolsReconciler implements OnApplicationBootstrap {
  readonly #moved = new Set<string>();
  readonly #busy = new Set<number>();
  readonly #woken = new AutoResetEvent();
  /** What no hint tells may be due. */
  #due = true;
  #polledAt = -Infinity;
  #allAt = -Infinity;

  constructor(
    private readonly repository: PoolStateRepository,
    private readonly pass: PoolPass,
    private readonly waits: WaitDelivery,
    private readonly scales: ScaleChecks,
    private readonly claims: ClaimsOfSessions,
    private readonly signals: Signals,
    private readonly due: DuePoller,
    private readonly config: AppConfig,
    private readonly log: AppLogger,
    private readonly lifecycle: Lifecycle,
  ) {}

  onApplicationBootstrap(): void {
    const unlisten = this.signals.onStreams((names) => {
      if (names === 'all') this.#allAt = -Infinity;
      else for (const name of names) this.#moved.add(name);
      this.#woken.set();
    });
    this.lifecycle.onStop('worker', 'pools', unlisten);
    this.scales.onNews((city) => void this.#lookSoon(city));
    this.due.watch(POLL_MS, this.repository.isDue, () => {
      this.#due = true;
      this.#woken.set();
    });
    repeat(this.lifecycle, this.log, { name: 'pools', everyMs: PAUSE_MS, work: (signal) => preparing(() => this.#turn(signal)) });
    repeat(this.lifecycle, this.log, { name: 'leases of sessions', everyMs: RENEW_MS, work: () => this.claims.renew() });
  }

  /** Waits for a hint or for its time, then looks at every city that is due. */
  async #turn(signal: AbortSignal): Promise<void> {
    if (this.#moved.size === 0) await this.#woken.waitFor(Math.max(0, this.#polledAt + POLL_MS - performance.now()), signal);
    await sleep(GATHER_MS, signal);
    if (signal.aborted) return;
    const moved = [...this.#moved];
    this.#moved.clear();
    const named = moved.length > 0 ? await this.repository.due(CITIES_A_TURN, moved) : [];
    if (named.length === CITIES_A_TURN) this.#allAt = -Infinity;
    const known = new Set(named.map(({ streamId }) => streamId));
    const others = (await this.#poll()).filter(({ streamId }) => !known.has(streamId));
    await atOnce(AT_ONCE, [...named, ...others], (city) => this.look(city, signal), signal);
  }

  /** Once a second what no hint tells is asked for, however many hints there are; now and then all that there is. */
  async #poll(): Promise<PoolCity[]> {
    const now = performance.now();
    if (now - this.#polledAt < POLL_MS) return [];
    this.#polledAt = now;
    if (this.signals.reliable && now - this.#allAt < ALL_MS) {
      if (!this.#due) return [];
      this.#due = false;
      return this.repository.due(CITIES_A_TURN, { processId: this.config.processId });
    }
    const all = await this.repository.due(CITIES_A_TURN);
    if (all.length < CITIES_A_TURN) this.#allAt = now;
    return all;
  }

  /** One look at a city; a failure is this city's alone. */
  async look(city: PoolCity, signal?: AbortSignal): Promise<void> {
    if (this.#busy.has(city.streamId)) return this.#later(city.name, POLL_MS, signal);
    this.#busy.add(city.streamId);
    try {
      const told = await this.#tell(city, signal);
      const { againMs } = await this.pass.run(city);
      if (!told) await this.repository.lookAgain(city.streamId, POLL_MS);
      if (againMs !== undefined && againMs <= POLL_MS) this.#later(city.name, againMs, signal);
    } catch (error) {
      if (signal?.aborted !== true) this.log.warn({ err: error, city: city.name }, 'the sessions of a city could not be looked at');
      // Where the look was noted before it failed, no other would follow in a city in which nothing happens.
      if (city.is === 'running') await this.#makeDue(city, POLL_MS);
      this.#later(city.name, POLL_MS, signal);
    } finally {
      this.#busy.delete(city.streamId);
    }
  }

  /** Tells sessions that what they waited for has happened. A failure there keeps no pool of the city from being looked at. */
  async #tell(city: PoolCity, signal: AbortSignal | undefined): Promise<boolean> {
    if (city.is !== 'running') return true;
    try {
      await this.waits.deliver(city);
      return true;
    } catch (error) {
      if (signal?.aborted !== true) this.log.warn({ err: error, city: city.name }, 'the waits of a city could not be told to its sessions');
      return false;
    }
  }

  /** Something has changed of which the city's log knows nothing. */
  async #lookSoon(city: { readonly name: string; readonly streamId: number }): Promise<void> {
    if (!(await this.#makeDue(city, 0))) return;
    this.#moved.add(city.name);
    this.#woken.set();
  }

  async #makeDue({ name, streamId }: { readonly name: string; readonly streamId: number }, ms: number): Promise<boolean> {
    try {
      await this.repository.lookAgain(streamId, ms);
      return true;
    } catch (error) {
      this.log.debug({ err: error, city: name }, 'a city could not be looked at again; its next look is in time');
      return false;
    }
  }

  /** Others look at what is due each second; this is for what comes sooner. */
  #later(name: string, ms: number, signal: AbortSignal | undefined): void {
    void sleep(ms, signal).then(() => {
      if (signal?.aborted === true) return;
      this.#moved.add(name);
      this.#woken.set();
    });
  }
}
