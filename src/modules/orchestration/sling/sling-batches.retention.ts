import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Transactions } from '../../../platform/database/transactions.js';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import { repeat } from '../../../platform/health/repeat.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { SlingBatchesRepository } from './sling-batches.repository.js';

const EVERY_MS = 5 * 60_000;
/** As long as an operation that has ended. */
const KEEP_MS = 7 * 24 * 3_600_000;
/** Each may have 5,000 results. */
const AT_ONCE = 5;

/** Forgets batches of many slings that ended long ago. */
@Injectable()
export class SlingBatchesRetention implements OnApplicationBootstrap {
  constructor(
    private readonly repository: SlingBatchesRepository,
    private readonly transactions: Transactions,
    private readonly lifecycle: Lifecycle,
    private readonly log: AppLogger,
  ) {}

  onApplicationBootstrap(): void {
    repeat(this.lifecycle, this.log, { name: 'batches of slings', everyMs: EVERY_MS, work: (signal) => this.pass(signal) });
  }

  async pass(signal?: AbortSignal): Promise<void> {
    while (signal?.aborted !== true && (await this.transactions.run((tx) => this.repository.purge(tx, KEEP_MS, AT_ONCE))) === AT_ONCE);
  }
}
