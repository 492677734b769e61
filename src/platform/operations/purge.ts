import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Transactions, type Tx } from '../database/transactions.js';
import { Lifecycle } from '../health/lifecycle.js';
import { repeat } from '../health/repeat.js';
import { Idempotency } from '../idempotency/idempotency.js';
import { AppLogger } from '../logging/logger.js';
import { inBatches } from '../time/in-batches.js';
import { OperationsRepository } from './operations.repository.js';
import { OperationTimings } from './timings.js';

/** Rows that one transaction deletes. */
const BATCH = 2_000;

/** Deletes finished operations and idempotency answers past their retention. It has a loop of its own, because a round with a backlog takes long. */
@Injectable()
export class OperationPurge implements OnApplicationBootstrap {
  constructor(
    private readonly repository: OperationsRepository,
    private readonly transactions: Transactions,
    private readonly idempotency: Idempotency,
    private readonly timings: OperationTimings,
    private readonly lifecycle: Lifecycle,
    private readonly log: AppLogger,
  ) {}

  onApplicationBootstrap(): void {
    const work = (signal: AbortSignal): Promise<void> => this.round(BATCH, signal);
    repeat(this.lifecycle, this.log, { name: 'purge of operations', everyMs: this.timings.purgeMs, work });
  }

  /** Deletes everything past its retention, in transactions of at most `batch` rows. */
  async round(batch = BATCH, signal?: AbortSignal): Promise<void> {
    const all = (step: (tx: Tx) => Promise<number>): Promise<void> => inBatches(batch, () => this.transactions.run(step), signal);
    await all((tx) => this.repository.purge(tx, this.timings.keepFinishedMs, batch));
    await all((tx) => this.idempotency.purge(tx, batch));
  }
}
