import { Injectable, type OnModuleInit } from '@nestjs/common';
import { AppConfig } from '../../platform/config/config.js';
import { Transactions } from '../../platform/database/transactions.js';
import { EventSegments } from '../../platform/event-log/segments.js';
import { Lifecycle } from '../../platform/health/lifecycle.js';
import { AppLogger } from '../../platform/logging/logger.js';
import { sleep } from '../../platform/time/clock.js';

const EVERY_MS = 60_000;
const SEAL_EVENTS = 100_000;
const SEAL_MS = 24 * 3_600_000;
const STREAMS_A_ROUND = 500;
/** Small, since appends of the stream wait for a batch's commit. */
const DROP_EVENTS = 2_000;
const BETWEEN_DROPS_MS = 5;

/**
 * Seals active logs that have grown long or old and, with a retention age, drops sealed events beyond it. Sealing
 * by itself records no event: an idle city's log would otherwise grow by one anchor a day for ever.
 */
@Injectable()
export class EventRetention implements OnModuleInit {
  readonly #stop = new AbortController();

  constructor(
    private readonly config: AppConfig,
    private readonly transactions: Transactions,
    private readonly segments: EventSegments,
    private readonly lifecycle: Lifecycle,
    private readonly log: AppLogger,
  ) {}

  onModuleInit(): void {
    const running = this.#run();
    this.lifecycle.onStop('background', 'event retention', () => {
      this.#stop.abort();
      return running;
    });
  }

  /** One round. Returns how many batches were dropped. */
  async round(now: { sealEvents: number; sealMs: number } = { sealEvents: SEAL_EVENTS, sealMs: SEAL_MS }): Promise<number> {
    const due = await this.transactions.run((tx) => this.segments.due(tx, now.sealEvents, now.sealMs, STREAMS_A_ROUND));
    for (const id of due) await this.transactions.run((tx) => this.segments.seal(tx, id));
    const age = this.config.eventRetentionMs;
    if (age === undefined) return 0;
    let dropped = 0;
    while (!this.#stop.signal.aborted && (await this.transactions.run((tx) => this.segments.dropOldest(tx, age, DROP_EVENTS)))) {
      dropped++;
      await sleep(BETWEEN_DROPS_MS, this.#stop.signal);
    }
    return dropped;
  }

  async #run(): Promise<void> {
    for (;;) {
      await sleep(EVERY_MS * (0.9 + Math.random() * 0.2), this.#stop.signal);
      if (this.#stop.signal.aborted) return;
      try {
        await this.round();
      } catch (error) {
        this.log.warn({ err: error }, 'event retention could not finish a round; the next one continues');
      }
    }
  }
}
