import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { AppConfig } from '../../../platform/config/config.js';
import { Transactions } from '../../../platform/database/transactions.js';
import { EventParts } from '../../../platform/event-log/parts.js';
import { EventSegments } from '../../../platform/event-log/segments.js';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import { repeat } from '../../../platform/health/repeat.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { sleep } from '../../../platform/time/clock.js';

const EVERY_MS = 60_000;
const ROTATE = { sealEvents: 100_000, sealMs: 24 * 3_600_000 };
const STREAMS_A_ROUND = 500;
/** Small, since appends of the stream wait for a batch's commit. */
const DROP_EVENTS = 2_000;
const BETWEEN_DROPS_MS = 5;
const FORGOTTEN_A_ROUND = 10_000;

/**
 * Seals active logs that have grown long or old and, with a retention age, drops what is beyond it: parts of the log as wholes, and of what was
 * there before it had parts sealed events. Sealing by itself records no event: an idle city's log would otherwise grow by one anchor a day for ever.
 */
@Injectable()
export class EventRetention implements OnApplicationBootstrap {
  constructor(
    private readonly config: AppConfig,
    private readonly transactions: Transactions,
    private readonly segments: EventSegments,
    private readonly parts: EventParts,
    private readonly lifecycle: Lifecycle,
    private readonly log: AppLogger,
  ) {}

  onApplicationBootstrap(): void {
    const work = (signal: AbortSignal): Promise<number> => this.round(ROTATE, signal);
    repeat(this.lifecycle, this.log, { name: 'event retention', everyMs: EVERY_MS, phase: 'background', work });
  }

  /** One round. Returns how many parts and batches were dropped. */
  async round({ sealEvents, sealMs } = ROTATE, signal?: AbortSignal): Promise<number> {
    const age = this.config.eventRetentionMs;
    // Only what is sealed is dropped: what is kept for an hour is not to wait for a day.
    const sealAfterMs = Math.min(sealMs, age === undefined ? sealMs : age / 4);
    const due = await this.transactions.run((tx) => this.segments.due(tx, sealEvents, sealAfterMs, STREAMS_A_ROUND));
    for (const id of due) await this.transactions.run((tx) => this.segments.seal(tx, id));
    const parts = await this.parts.round(age, signal);
    if (age === undefined) return parts.dropped;
    let { dropped } = parts;
    while (signal?.aborted !== true && (await this.transactions.run((tx) => this.segments.dropOldest(tx, age, DROP_EVENTS, parts.since)))) {
      dropped++;
      await sleep(BETWEEN_DROPS_MS, signal);
    }
    await this.transactions.run((tx) => this.segments.forget(tx, FORGOTTEN_A_ROUND));
    return dropped;
  }
}
