import { Injectable, type OnModuleInit } from '@nestjs/common';
import type { AuditedRequest } from '../audit/audited-request.js';
import { Auditor, type Outcome } from '../audit/auditor.js';
import { Transactions } from '../database/transactions.js';
import { Lifecycle } from '../health/lifecycle.js';
import { repeat } from '../health/repeat.js';
import { AppLogger } from '../logging/logger.js';
import { recordOf, type AuditRecord } from './audit-record.js';
import { AuditRepository } from './audit.repository.js';
import { FORWARDED_A_MINUTE, UnchangedRequests } from './unchanged-requests.js';

const WINDOW_MS = 60_000;
const RETRY_MS = 1_000;
const MAX_ROWS = 500;
/** Records that wait to be stored; what comes beyond is counted. */
const MAX_WAITING = 5_000;

/**
 * The audit room: who did what with which key. Every request of an operation that may change something leaves one record.
 *
 * - One that changes something has its record in the transaction of the change, written before anything is locked: neither is ever
 *   there without the other, whenever the process dies. It costs one statement (none where writes are combined: the record is part of
 *   theirs), and no lock that others wait for. A stream of the event log was tried on paper and refused: its counter row is locked
 *   until the commit, so one for all would put the commits of all cities in a line (some 800 a second where 13,000 are possible), and
 *   one for each city would double the streams that every replica reads, and lock a second row below every write of a city.
 * - One that changes nothing (refused, repeated, a dry run) is recorded when it is answered, outside of any transaction, and within
 *   bounds: see `UnchangedRequests`. What waits to be stored or counted when a process is killed is lost with it.
 * - What was forwarded to a program of a city, and may have changed something there, is recorded likewise when that has answered, within
 *   bounds of its own.
 *
 * Reads leave no record, unless they take what they give away from others (`claims`). Bodies, queries, headers and secrets are in none.
 */
@Injectable()
export class AuditLog extends Auditor implements OnModuleInit {
  readonly #unchanged = new UnchangedRequests();
  readonly #forwarded = new UnchangedRequests(FORWARDED_A_MINUTE, ['service']);
  #waiting: AuditRecord[] = [];
  #storing: Promise<void> | undefined;
  #retryAt = 0;

  constructor(
    private readonly repository: AuditRepository,
    private readonly transactions: Transactions,
    private readonly lifecycle: Lifecycle,
    private readonly log: AppLogger,
  ) {
    super();
  }

  onModuleInit(): void {
    this.transactions.recordWith({
      begin: (request) => this.repository.insertion(request),
      end: (request) => this.repository.completion(request),
    });
    let endsAt = performance.now() + WINDOW_MS;
    const work = async (): Promise<void> => {
      if (performance.now() >= endsAt) {
        endsAt = performance.now() + WINDOW_MS;
        this.endWindow();
      }
      if (this.#waiting.length > 0) await this.flushed();
    };
    repeat(this.lifecycle, this.log, { name: 'audit records', everyMs: RETRY_MS, phase: 'background', work });
    this.lifecycle.onStop('listener', 'audit records', () => {
      this.endWindow();
      this.#retryAt = 0;
      return this.flushed();
    });
  }

  override answered(request: AuditedRequest, outcome: Outcome): void {
    const { entry, recorded, forwarded } = request;
    const counting = forwarded ? this.#forwarded : this.#unchanged;
    if (recorded && outcome.status === entry.status) return;
    const record = recordOf({ ...entry, ...outcome }, Date.now());
    // What a change was answered with is always told: a change costs more than its record.
    if (!recorded && !counting.admit(record)) return;
    this.#wait(record, counting);
    this.#store();
  }

  /** What was counted is stored, and callers have their allowance again. */
  endWindow(): void {
    for (const counting of [this.#unchanged, this.#forwarded]) for (const record of counting.end()) this.#wait(record, counting);
    this.#store();
  }

  /** Once all that waits now is stored. */
  async flushed(): Promise<void> {
    this.#store();
    await this.#storing;
  }

  #wait(record: AuditRecord, counting: UnchangedRequests): void {
    if (this.#waiting.length < MAX_WAITING) this.#waiting.push(record);
    else counting.count(record);
  }

  /** One statement at a time; what comes meanwhile goes with the next. */
  #store(): void {
    if (this.#storing !== undefined || performance.now() < this.#retryAt) return;
    this.#storing = this.#storeAll();
  }

  async #storeAll(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve)); // those of one turn of the event loop go together
    while (this.#waiting.length > 0 && performance.now() >= this.#retryAt) {
      const batch = this.#waiting.splice(0, MAX_ROWS);
      try {
        await this.repository.store(latest(batch));
      } catch (error) {
        this.#waiting.unshift(...batch);
        this.#retryAt = performance.now() + RETRY_MS;
        this.log.warn({ err: error, waiting: this.#waiting.length }, 'audit records could not be stored; they wait');
      }
    }
    // In the turn that has found nothing: who comes a moment later would wait for what does not look any more.
    this.#storing = undefined;
  }
}

/** A statement stores no request twice. */
function latest(batch: readonly AuditRecord[]): AuditRecord[] {
  const several = batch.filter(({ request_id }) => request_id === null);
  return [...several, ...new Map(batch.flatMap((r) => (r.request_id === null ? [] : [[r.request_id, r] as const]))).values()];
}
