import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { AppConfig } from '../../../platform/config/config.js';
import { Transactions } from '../../../platform/database/transactions.js';
import { PartitionRotation } from '../../../platform/event-log/partition-rotation.js';
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
 * Seals active logs that have grown long or old. With a retention time it also drops older events: partitions as a whole, and sealed events from before the log
 * was partitioned. Sealing by itself records no event: an idle city's log would otherwise grow by one anchor a day for ever.
 */
@Injectable()
export class EventRetention implements OnApplicationBootstrap {
  constructor(
    private readonly config: AppConfig,
    private readonly transactions: Transactions,
    private readonly segments: EventSegments,
    private readonly rotation: PartitionRotation,
    private readonly lifecycle: Lifecycle,
    private readonly log: AppLogger,
  ) {}

  onApplicationBootstrap(): void {
    const work = (signal: AbortSignal): Promise<number> => this.round(ROTATE, signal);
    repeat(this.lifecycle, this.log, { name: 'event retention', everyMs: EVERY_MS, phase: 'background', work });
  }

  /** One round. Returns how many partitions and batches were dropped. */
  async round({ sealEvents, sealMs } = ROTATE, signal?: AbortSignal): Promise<number> {
    const age = this.config.eventRetentionMs;
    // Only sealed events are dropped, so a short retention time has to seal sooner.
    const sealAfterMs = Math.min(sealMs, age === undefined ? sealMs : age / 4);
    const due = await this.transactions.run((tx) => this.segments.due(tx, sealEvents, sealAfterMs, STREAMS_A_ROUND));
    for (const id of due) await this.transactions.run((tx) => this.segments.seal(tx, id));
    const rotated = await this.rotation.round(age, signal);
    if (age === undefined) return rotated.dropped;
    let { dropped } = rotated;
    while (
      signal?.aborted !== true &&
      (await this.transactions.run((tx) => this.segments.dropOldest(tx, age, DROP_EVENTS, rotated.since)))
    ) {
      dropped++;
      await sleep(BETWEEN_DROPS_MS, signal);
    }
    await this.transactions.run((tx) => this.segments.forget(tx, FORGOTTEN_A_ROUND));
    return dropped;
  }
}
