import { Injectable } from '@nestjs/common';
import { AppConfig } from '../config/config.js';
import { Db } from '../database/database.js';
import { Failpoints } from '../failpoints/failpoints.js';
import { AppLogger } from '../logging/logger.js';
import { Outage } from '../logging/outage.js';
import { AutoResetEvent } from '../time/auto-reset-event.js';
import { sleep } from '../time/clock.js';
import { preparing } from '../turns/preparing.js';
import { OperationClaimsRepository, type ClaimedRow } from './operation-claims.repository.js';
import { OperationRegistry } from './registry.js';
import { OperationRunner } from './runner.js';
import { OperationTimings } from './timings.js';

/** Operations past their deadline that this process ends at once. */
const EXPIRED_AT_ONCE = 20;

/**
 * Finds operations that the queue did not bring or that a worker did not end, claims them directly and runs them here. The sweeper, not the queue,
 * is why accepted work always ends: without Redis everything still happens, a second or two later.
 */
@Injectable()
export class OperationSweeper {
  #stop: AbortController | undefined;
  #loop: Promise<void> | undefined;
  /** Rung when something taken here has ended. */
  readonly #ended = new AutoResetEvent();
  /** Expired operations that are being ended here. They need no free place, so their number has a limit of its own. */
  #taken = 0;

  constructor(
    private readonly config: AppConfig,
    private readonly db: Db,
    private readonly repository: OperationClaimsRepository,
    private readonly runner: OperationRunner,
    private readonly registry: OperationRegistry,
    private readonly failpoints: Failpoints,
    private readonly timings: OperationTimings,
    private readonly log: AppLogger,
  ) {}

  start(): void {
    if (this.#loop !== undefined) throw new Error('the sweeper is already started');
    this.#stop = new AbortController();
    this.#loop = this.#run(this.#stop.signal);
  }

  async stop(): Promise<void> {
    this.#stop?.abort();
    await this.#loop;
  }

  /** One round. Returns true when there may be more expired operations than it could take. */
  async sweep(): Promise<boolean> {
    const { leaseMs } = this.timings;
    const { kinds } = this.registry;
    this.#ended.reset();
    if (!(await preparing(() => this.repository.anyDue(this.db, this.timings)))) return false;
    await this.failpoints.hit('sweeper.before_redispatch');
    const limit = Math.max(0, EXPIRED_AT_ONCE - this.#taken);
    const rows = await this.repository.claimExpired(this.db, this.config.processId, { limit, leaseMs, kinds });
    for (const row of rows) void this.#take(row);
    await this.runner.fill();
    return rows.length >= limit;
  }

  async #take(row: ClaimedRow): Promise<void> {
    this.#taken++;
    await this.runner.runClaimed(row);
    this.#taken--;
    this.#ended.set();
  }

  async #run(signal: AbortSignal): Promise<void> {
    const outage = new Outage(this.log, 'sweeps for operations work again');
    while (!signal.aborted) {
      let more = false;
      try {
        more = await this.sweep();
        outage.worked();
      } catch (error) {
        if (!signal.aborted) outage.failed(error, 'a sweep for operations failed; it is tried again');
      }
      await this.#pause(signal, more);
    }
  }

  /** Waits for the next round; with a backlog only until one operation has ended. The jitter keeps processes from sweeping in step. */
  async #pause(signal: AbortSignal, backlog: boolean): Promise<void> {
    const ms = this.timings.sweepMs * (0.9 + Math.random() * 0.2);
    if (backlog) await this.#ended.waitFor(ms, signal);
    else await sleep(ms, signal);
  }
}
