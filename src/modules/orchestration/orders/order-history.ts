import { Injectable } from '@nestjs/common';
import { sleep } from '../../../platform/time/clock.js';
import { inBatches } from '../../../platform/time/in-batches.js';
import { OrderHistoryRepository, type OrderPlace } from './order-history.repository.js';
import { DeliveriesRepository } from './webhooks/deliveries.repository.js';

const DAY_MS = 86_400_000;
const KEPT = { usualMs: 30 * DAY_MS, last: 10 };
const STEP = { orders: 500, each: 500, firings: 2_000 };
/** Of one pass: 3,000 cities with ten orders each come round in six minutes. */
const STEPS = 10;
const DELIVERIES = 1_000;
const BETWEEN_MS = 5;

/** Forgets what is long over of orders, and of what came from outside for them. */
@Injectable()
export class OrderHistory {
  /** Where the walk through all orders goes on. */
  #at: OrderPlace | undefined;

  constructor(
    private readonly repository: OrderHistoryRepository,
    private readonly deliveries: DeliveriesRepository,
  ) {}

  async pass(signal?: AbortSignal, step = STEP): Promise<void> {
    for (let n = 0; n < STEPS && signal?.aborted !== true; n++) {
      const { next, last, gone } = await this.repository.forget(this.#at, KEPT, step);
      // More of the same orders may be over.
      if (gone === step.firings) continue;
      if (last !== undefined) await this.repository.dropGone(this.#at, last, KEPT);
      this.#at = next;
      if (next === undefined) break;
      await sleep(BETWEEN_MS, signal);
    }
    const forget = async (): Promise<number> => {
      const { over, waited } = await this.deliveries.forget(KEPT.usualMs, DELIVERIES);
      return Math.max(over, waited);
    };
    await inBatches(DELIVERIES, forget, signal);
  }
}
