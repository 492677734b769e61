import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { AuditRepository } from '../../../platform/audit-log/audit.repository.js';
import { AppConfig } from '../../../platform/config/config.js';
import { Transactions, type Tx } from '../../../platform/database/transactions.js';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import { repeat } from '../../../platform/health/repeat.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { inBatches } from '../../../platform/time/in-batches.js';

const EVERY_MS = 5 * 60_000;
const BATCH = 2_000;

/** Drops audit records beyond their age and number, oldest first, and mends the order of those of a restored dump. */
@Injectable()
export class AuditRetention implements OnApplicationBootstrap {
  constructor(
    private readonly config: AppConfig,
    private readonly transactions: Transactions,
    private readonly repository: AuditRepository,
    private readonly lifecycle: Lifecycle,
    private readonly log: AppLogger,
  ) {}

  onApplicationBootstrap(): void {
    const work = (signal: AbortSignal): Promise<void> => this.round(BATCH, signal);
    repeat(this.lifecycle, this.log, { name: 'audit retention', everyMs: EVERY_MS, phase: 'background', work });
  }

  /** One round, in transactions of at most `batch` records. */
  async round(batch = BATCH, signal?: AbortSignal): Promise<void> {
    const { auditRetentionMs: age, auditRecords: most } = this.config;
    const all = (step: (tx: Tx) => Promise<number>): Promise<void> => inBatches(batch, () => this.transactions.run(step), signal);
    await all((tx) => this.repository.putFirst(tx, batch));
    await all((tx) => this.repository.dropOld(tx, age, batch));
    const edge = await this.transactions.run((tx) => this.repository.newestBeyond(tx, most));
    if (edge !== undefined) await all((tx) => this.repository.dropUpTo(tx, edge, batch));
  }
}
