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

/** Share of the time that the event loop works, beyond which a process rests between two hints. */
const BUSY = 0.5;
/** So long at the least it has looked at that. */
const WINDOW_MS = 100;
/** One hint after the other takes as much of the database as a tenth of what a busy process writes: of 350 a second, 80 are left. */
const REST_MS = 10;

/**
 * Tells the other processes which streams this one has moved: one small NOTIFY in a transaction of its own,
 * after the commits it reports. At once when idle, one in flight, what changes meanwhile goes with the next; a busy process rests in between.
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
      // What has just begun to tell what a transaction has changed tells all of it, one after the other.
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
    // In the turn that has found nothing: what moves a moment later would wait for what moves after it.
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
