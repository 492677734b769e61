import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Lifecycle } from '../../../../platform/health/lifecycle.js';
import { repeat } from '../../../../platform/health/repeat.js';
import { AppLogger } from '../../../../platform/logging/logger.js';
import { inBatches } from '../../../../platform/time/in-batches.js';
import { ExtmsgTimings } from '../extmsg-timings.js';
import { ForClientsRepository } from '../outbound/for-clients.repository.js';

const EVERY_MS = 60_000;
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
    repeat(this.lifecycle, this.log, { name: 'marks of publications for clients', everyMs: EVERY_MS, work: (signal) => this.pass(signal) });
  }

  async pass(signal?: AbortSignal): Promise<void> {
    const { offers } = this.timings;
    await inBatches(BATCH, () => this.repository.unmark(offers, BATCH), signal);
    await inBatches(BATCH, () => this.repository.mark(offers, BATCH), signal);
  }
}
