import { hostname } from 'node:os';
import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../../platform/config/config.js';
import { Db } from '../../../platform/database/database.js';
import { Isolation } from '../../../platform/isolation/isolation.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { Outage } from '../../../platform/logging/outage.js';
import { bootId } from '../../../platform/runtime/process-table.js';
import { Clock, newId, sleep } from '../../../platform/time/clock.js';
import { RunnerLease } from './runner-lease.js';
import { RunnerTimings } from './runner-timings.js';
import { RunnerRepository, type Machine } from './runner.repository.js';
import { RunnerStates } from './runner-states.js';

const LATE_RENEWALS = 3;

/**
 * This process as a runner: a row with a lease that is renewed every 2 s. When the lease is lost, here or in the row, the
 * holder of the sessions is told to end everything; after that the process registers anew under another id.
 */
@Injectable()
export class RunnerRegistry {
  readonly machine: Machine = { host: hostname(), boot: bootId() || null };
  readonly #stop = new AbortController();
  readonly #attempts = new Set<Promise<void>>();
  #lease: RunnerLease | undefined;
  #draining = false;
  #loop: Promise<void> | undefined;
  #watchdog: NodeJS.Timeout | undefined;
  readonly #unregistered: Outage;
  readonly #unrenewed: Outage;

  constructor(
    private readonly config: AppConfig,
    private readonly db: Db,
    private readonly repository: RunnerRepository,
    private readonly states: RunnerStates,
    private readonly clock: Clock,
    private readonly timings: RunnerTimings,
    private readonly isolation: Isolation,
    private readonly log: AppLogger,
  ) {
    this.#unregistered = new Outage(log, 'this runner has registered');
    this.#unrenewed = new Outage(log, 'the lease of this runner is renewed again');
  }

  /** Undefined between a loss and the next registration. */
  get lease(): RunnerLease | undefined {
    return this.#lease?.signal.aborted === true ? undefined : this.#lease;
  }

  get capacity(): number {
    return this.config.runnerCapacity;
  }

  /** New sessions may be taken now. */
  get accepting(): boolean {
    return !this.#draining && this.lease?.accepts === true;
  }

  /**
   * Registers and keeps the lease until `end`. `ended` is awaited after a loss: everything that ran under the lost lease
   * has ended, has been waited for long enough, or the process stops.
   */
  start(registered: (lease: RunnerLease) => void, ended: (stopping: AbortSignal) => Promise<void>): void {
    this.#loop = this.#run(registered, ended);
  }

  /** Other runners are or were on this host a short while ago. */
  hasNeighbours({ id }: RunnerLease): Promise<boolean> {
    return this.repository.hasOthers(this.db, this.machine, id);
  }

  /** Takes no new sessions any more. Others see it, too. */
  async drain(): Promise<void> {
    this.#draining = true;
    const lease = this.lease;
    if (lease !== undefined) await this.states.drain(lease.id);
  }

  /** The last step of an orderly stop. */
  async end(): Promise<void> {
    this.#draining = true;
    this.#stop.abort();
    await this.#loop;
    await Promise.allSettled(this.#attempts);
    clearTimeout(this.#watchdog);
    const lease = this.lease;
    lease?.lose();
    if (lease !== undefined) await this.states.stop(lease.id);
  }

  async #run(registered: (lease: RunnerLease) => void, ended: (stopping: AbortSignal) => Promise<void>): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const lease = await this.#register().catch((error: unknown) => {
        this.#unregistered.failed(error, 'this runner could not register; it tries again');
        return undefined;
      });
      if (lease === undefined) {
        await sleep(this.timings.renewMs / 2, signal);
        continue;
      }
      this.#unregistered.worked({ runner: lease.id });
      registered(lease);
      await this.#keep(lease);
      if (signal.aborted) return;
      this.log.error({ runner: lease.id }, 'the lease of this runner is lost; its processes are ended, then it registers anew');
      await ended(signal);
    }
  }

  async #register(): Promise<RunnerLease> {
    const sentAt = this.clock.monotonic();
    const id = newId('runner');
    const { kind: isolation } = await this.isolation.found();
    const limits = await this.isolation.limitsBy();
    const identity = { id, processId: this.config.processId, ...this.machine, capacity: this.capacity, isolation, limits };
    await this.states.register(identity, this.timings.leaseMs);
    const lease = new RunnerLease(id, this.clock, this.timings, sentAt);
    this.#lease = lease;
    this.#watch(lease);
    if (this.#draining) await this.states.drain(id);
    return lease;
  }

  /** Renews until the lease is lost or the process stops. A renewal that hangs does not keep the next one back. */
  async #keep(lease: RunnerLease): Promise<void> {
    const over = AbortSignal.any([lease.signal, this.#stop.signal]);
    while (!over.aborted) {
      await sleep(this.timings.renewMs, over);
      if (over.aborted || this.#attempts.size >= LATE_RENEWALS) continue;
      const attempt = this.#renew(lease).finally(() => this.#attempts.delete(attempt));
      this.#attempts.add(attempt);
    }
  }

  async #renew(lease: RunnerLease): Promise<void> {
    const sentAt = this.clock.monotonic();
    try {
      if (!(await this.repository.renew(this.db, lease.id, this.capacity, this.timings.leaseMs))) {
        if (!this.#stop.signal.aborted) lease.lose();
        return;
      }
      lease.renewed(sentAt);
      this.#watch(lease);
      this.#unrenewed.worked({ runner: lease.id });
    } catch (error) {
      this.#unrenewed.failed(error, 'the lease of this runner could not be renewed; it is tried again', { runner: lease.id });
    }
  }

  /** Whoever waits must learn of the loss also when nothing of the database answers. */
  #watch(lease: RunnerLease): void {
    clearTimeout(this.#watchdog);
    if (lease.signal.aborted) return;
    this.#watchdog = setTimeout(() => (lease.held ? this.#watch(lease) : lease.lose()), this.timings.watchMs);
  }
}
