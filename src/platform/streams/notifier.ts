import { Injectable, type OnModuleInit } from '@nestjs/common';
import { performance } from 'node:perf_hooks';
import { PgPool } from '../database/database.js';
import { MovedStreams, type Moved } from '../event-log/moved.js';
import { Failpoints } from '../failpoints/failpoints.js';
import { Lifecycle } from '../health/lifecycle.js';
import { Metrics } from '../health/metrics.js';
import { AppLogger } from '../logging/logger.js';
import { sleep } from '../time/clock.js';
import { encodeHint, HINT_CHANNEL } from './hint.js';

/** Utilization of the event loop above which a process pauses between two hints. */
const BUSY = 0.5;
/** The shortest time over which utilization is measured. */
const WINDOW_MS = 100;
/** That pause. Hints without it cost the database a tenth of what a busy process writes; with it 80 of 350 a second are left. */
const REST_MS = 10;

/**
 * Tells the other processes which streams this one has moved: one small NOTIFY in a transaction of its own,
 * after the commits it reports. An idle process sends at once. One is in flight; changes meanwhile go with the next. A busy process pauses in between.
 * A NOTIFY inside a writing transaction would serialise every commit of the database (13,637 writes/s become
 * 824). It is a hint: when it fails it is dropped, and readers find the events by polling.
 */
@Injectable()
export class Notifier implements OnModuleInit {
  readonly #pending = new Map<string, number>();
  #sending: Promise<void> | undefined;
  #looked = performance.now();
  #loop = performance.eventLoopUtilization();
  #isBusy = false;

  constructor(
    private readonly pool: PgPool,
    private readonly moved: MovedStreams,
    private readonly failpoints: Failpoints,
    private readonly lifecycle: Lifecycle,
    private readonly log: AppLogger,
    metrics: Metrics,
  ) {
    this.sent = metrics.counter({ name: 'svc_notify_sent_total', help: 'NOTIFY hints sent to other processes' });
  }

  private readonly sent;

  onModuleInit(): void {
    const stop = this.moved.listen((moved) => this.#mark(moved));
    this.lifecycle.onStop('background', 'notifier', async () => {
      stop();
      await this.#sending;
    });
  }

  #mark(moved: readonly Moved[]): void {
    for (const { stream, head } of moved) this.#pending.set(stream, Math.max(head, this.#pending.get(stream) ?? 0));
    this.#sending ??= this.#send();
  }

  async #send(): Promise<void> {
    while (this.#pending.size > 0) {
      // Let the caller of `#mark` go on first: it may be telling what a transaction has changed, one piece after the other.
      await Promise.resolve();
      const payload = encodeHint(this.#pending);
      this.#pending.clear();
      try {
        await this.failpoints.hit('notify.before');
        await this.pool.query({ name: 'notify', text: 'select pg_notify($1, $2)', values: [HINT_CHANNEL, payload] });
        this.sent.inc();
        await this.failpoints.hit('notify.after');
      } catch (error) {
        this.log.debug({ err: error }, 'a notification was dropped; readers poll');
      }
      if (this.#busy()) await sleep(REST_MS);
    }
    // At once after the last look: a stream that moved later would otherwise wait for the next one to move.
    this.#sending = undefined;
  }

  /** Whether the process was busy in the last window, or in all that has passed since one before it. */
  #busy(): boolean {
    const now = performance.now();
    if (now - this.#looked >= WINDOW_MS) {
      const loop = performance.eventLoopUtilization();
      this.#isBusy = performance.eventLoopUtilization(loop, this.#loop).utilization > BUSY;
      this.#loop = loop;
      this.#looked = now;
    }
    return this.#isBusy;
  }
}
