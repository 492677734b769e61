import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { AuditRepository, type AuditExcess, type AuditPlace } from '../../../platform/audit-log/audit.repository.js';
import { AppConfig } from '../../../platform/config/config.js';
import { Transactions, type Tx } from '../../../platform/database/transactions.js';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import { repeat } from '../../../platform/health/repeat.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { inBatches } from '../../../platform/time/in-batches.js';

const EVERY_MS = 5 * 60_000;
/** Records that one transaction drops. */
const BATCH = 2_000;
/** Cities that a line in the log names. */
const TOLD = 5;

/**
 * Drops audit records that are too old. Beyond the limit of their number it drops the oldest of refused requests and of the cities with the most. It also repairs the
 * order of records from a restored dump.
 */
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
    const beyond = await this.transactions.run(async (tx) => {
      const excess = await this.repository.beyond(tx, most);
      if (excess.length > 0) await this.#tell(tx, excess);
      return excess;
    });
    for (const one of beyond) {
      let after: AuditPlace | undefined;
      const step = async (): Promise<number> => {
        const { count, last } = await this.transactions.run((tx) => this.repository.dropBeyond(tx, one, batch, after));
        after = last;
        return count;
      };
      await inBatches(batch, step, signal);
    }
  }

  /**
   * Warns of records that are dropped before their age, as those that are too old are gone already. The city of a refused request is only a name
   * that its sender has written.
   */
  async #tell(tx: Tx, beyond: readonly AuditExcess[]): Promise<void> {
    const of: Record<string, unknown>[] = [];
    for (const one of beyond.slice(0, TOLD)) {
      const city = one.city === '' ? 'none that ever was' : (one.city ?? 'none');
      const { records, refused } = one;
      of.push({ city, records, ...(refused ? { refused, most_by: await this.repository.mostOf(tx, one) } : {}) });
    }
    const records = beyond.reduce((sum, one) => sum + one.records, 0);
    this.log.warn(
      { of, records },
      'audit records go before SVC_AUDIT_RETENTION, as there are more than SVC_AUDIT_RECORDS: those of refused requests first',
    );
  }
}
