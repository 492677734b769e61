import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import { repeat } from '../../../platform/health/repeat.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { Signals } from '../../../platform/streams/signals.js';
import { AutoResetEvent } from '../../../platform/time/auto-reset-event.js';
import { OrderEvaluator } from './order-evaluator.js';
import { OrderSweeper } from './order-sweeper.js';
import { OrderSync } from './order-sync.js';

const EVERY_MS = 1_000;
/** Hints are gathered for so long. */
const GATHER_MS = 200;

/** Reads the orders of cities, fires what is due, and takes back what nobody carries out any more. Every worker has one. */
@Injectable()
export class OrdersReconciler implements OnApplicationBootstrap {
  readonly #woken = new AutoResetEvent();

  constructor(
    private readonly sync: OrderSync,
    private readonly evaluator: OrderEvaluator,
    private readonly sweeper: OrderSweeper,
    private readonly signals: Signals,
    private readonly lifecycle: Lifecycle,
    private readonly log: AppLogger,
  ) {}

  onApplicationBootstrap(): void {
    const unlisten = this.signals.onStreams(() => this.#woken.set());
    this.lifecycle.onStop('worker', 'hints of orders', unlisten);
    repeat(this.lifecycle, this.log, { name: 'orders', everyMs: GATHER_MS, work: (signal) => this.#turn(signal) });
    repeat(this.lifecycle, this.log, { name: 'lost firings', everyMs: EVERY_MS, work: () => this.sweeper.sweep() });
    repeat(this.lifecycle, this.log, { name: 'history of orders', everyMs: 60 * EVERY_MS, work: () => this.sweeper.forget() });
  }

  /** What the clock brings is looked for each second; what an event brings, at once. */
  async #turn(signal: AbortSignal): Promise<void> {
    await this.#woken.waitFor(EVERY_MS, signal);
    if (signal.aborted) return;
    await this.sync.follow(signal);
    await this.evaluator.look(signal);
  }
}
