import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Lifecycle } from '../../../../platform/health/lifecycle.js';
import { repeat } from '../../../../platform/health/repeat.js';
import { AppLogger } from '../../../../platform/logging/logger.js';
import { inBatches } from '../../../../platform/time/in-batches.js';
import { ExtmsgTimings } from '../extmsg-timings.js';
import { ForClientsRepository } from '../outbound/for-clients.repository.js';

/** What has no mark is offered to no client. */
const MARKED_EVERY_MS = 2_000;
const LOOKED_AT_EVERY_MS = 60_000;
const BATCH = 1_000;

/**
 * Puts right which publications are marked as for clients: an adapter may change while one is taken for it, and the release before marks none. Any
 * number of workers may.
 */
@Injectable()
export class ForClients implements OnApplicationBootstrap {
  constructor(
    private readonly repository: ForClientsRepository,
    private readonly timings: ExtmsgTimings,
    private readonly lifecycle: Lifecycle,
    private readonly log: AppLogger,
  ) {}

  onApplicationBootstrap(): void {
    const every = (everyMs: number, name: string, work: (signal: AbortSignal) => Promise<void>): void =>
      repeat(this.lifecycle, this.log, { name, everyMs, work });
    every(MARKED_EVERY_MS, 'publications for clients without a mark', (signal) => this.mark(signal));
    every(LOOKED_AT_EVERY_MS, 'marks of publications for clients', (signal) => this.unmark(signal));
  }

  mark(signal?: AbortSignal): Promise<void> {
    return inBatches(BATCH, () => this.repository.mark(this.timings.offers, BATCH), signal);
  }

  unmark(signal?: AbortSignal): Promise<void> {
    return inBatches(BATCH, () => this.repository.unmark(this.timings.offers, BATCH), signal);
  }
}
