import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { DuePoller } from '../../../platform/database/due-poller.js';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import { repeat } from '../../../platform/health/repeat.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { Signals } from '../../../platform/streams/signals.js';
import { AutoResetEvent } from '../../../platform/time/auto-reset-event.js';
import { preparing } from '../../../platform/turns/preparing.js';
import { FiringsRepository } from './firings.repository.js';
import { OrderEvaluator } from './order-evaluator.js';
import { OrderHistory } from './order-history.js';
import { OrderSweeper } from './order-sweeper.js';
import { OrderSync } from './order-sync.js';
import { OrderSyncRepository } from './order-sync.repository.js';

const EVERY_MS = 1_000;
/** Hints are gathered for so long. */
const GATHER_MS = 200;

/** Reads the orders of cities, fires what is due, and takes back what nobody carries out any more. Every worker has one. */
@Injectable()
export class OrdersReconciler implements OnApplicationBootstrap {
  readonly #woken = new AutoResetEvent();
  /** Something may be due since the last turn. */
  #due = true;

  constructor(
    private readonly sync: OrderSync,
    private readonly evaluator: OrderEvaluator,
    private readonly sweeper: OrderSweeper,
    private readonly history: OrderHistory,
    private readonly firings: FiringsRepository,
    private readonly synced: OrderSyncRepository,
    private readonly signals: Signals,
    private readonly due: DuePoller,
    private readonly lifecycle: Lifecycle,
    private readonly log: AppLogger,
  ) {}

  onApplicationBootstrap(): void {
    const wake = (): void => {
      this.#due = true;
      this.#woken.set();
    };
    const unlisten = this.signals.onStreams(wake);
    this.lifecycle.onStop('worker', 'hints of orders', unlisten);
    this.due.watch(EVERY_MS, this.firings.isDue, wake);
    this.due.watch(EVERY_MS, this.synced.hasMoved, wake);
    repeat(this.lifecycle, this.log, { name: 'orders', everyMs: GATHER_MS, work: (signal) => preparing(() => this.#turn(signal)) });
    this.due.repeat({ name: 'lost firings', everyMs: EVERY_MS, due: this.firings.isLost, work: () => this.sweeper.sweep() });
    repeat(this.lifecycle, this.log, { name: 'history of orders', everyMs: 60 * EVERY_MS, work: (signal) => this.history.pass(signal) });
  }

  /** What the clock brings is looked for each second; what an event brings, at once. */
  async #turn(signal: AbortSignal): Promise<void> {
    await this.#woken.waitFor(EVERY_MS, signal);
    if (signal.aborted) return;
    // It may take longer than until the next look: what that one brings counts.
    const due = this.#due;
    this.#due = false;
    if ((await this.sync.follow(signal)) === 0 && !due) return;
    await this.evaluator.look(signal);
    if (!this.evaluator.isBehind) return;
    this.#due = true;
    this.#woken.set();
  }
}
