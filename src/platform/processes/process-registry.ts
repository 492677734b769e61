import { hostname } from 'node:os';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { SupervisorShutdownRequested, SupervisorStarted } from '../../contract/events/supervisor.events.js';
import { SUPERVISOR_STREAM } from '../../contract/scalars.js';
import { VERSION } from '../../contract/version.js';
import { AppConfig } from '../config/config.js';
import { Db } from '../database/database.js';
import { Transactions } from '../database/transactions.js';
import { EventLog } from '../event-log/event-log.js';
import { event } from '../event-log/event.js';
import { Lifecycle } from '../health/lifecycle.js';
import { Metrics } from '../health/metrics.js';
import { AppLogger } from '../logging/logger.js';
import { Outage } from '../logging/outage.js';
import { sleep } from '../time/clock.js';
import { ProcessClock } from './process-clock.js';
import { measureProcesses } from './process-metrics.js';
import { ProcessesRepository, type Beat, type ProcessIdentity } from './processes.repository.js';

const HEARTBEAT_MS = 2_000;
const PURGE_EVERY_BEATS = 1_800;
const ACTOR = 'supervisor';

/**
 * The processes room: every process has a row that beats, so that all of them can tell who is alive. It promises
 * that a row without `stopped_at` and without a beat for 10 s belongs to a process that died. It says on the
 * supervisor's stream when a working process starts and when it is told to stop.
 */
@Injectable()
export class ProcessRegistry implements OnModuleInit {
  readonly #stop = new AbortController();
  readonly #probeListeners = new Set<() => void>();
  readonly #identity: ProcessIdentity;
  readonly #clock: ProcessClock;
  readonly #outage: Outage;
  #probeAskedAt: string | undefined;
  #beating: Promise<void> = Promise.resolve();

  constructor(
    private readonly config: AppConfig,
    private readonly repository: ProcessesRepository,
    private readonly transactions: Transactions,
    private readonly eventLog: EventLog,
    private readonly lifecycle: Lifecycle,
    log: AppLogger,
    db: Db,
    metrics: Metrics,
  ) {
    measureProcesses(repository, db, metrics);
    this.#clock = new ProcessClock(metrics, log);
    this.#outage = new Outage(log, 'heartbeats work again');
    this.#identity = { id: config.processId, role: config.role, hostname: hostname(), version: VERSION };
  }

  /** Calls `listener` when somebody asks the worker hosts to probe their providers again. Late by one beat. */
  onProbeRequested(listener: () => void): void {
    this.#probeListeners.add(listener);
  }

  /** Before anything works: what other rooms write about this process refers to its row. */
  async onModuleInit(): Promise<void> {
    await this.transactions.run(async (tx) => {
      if (this.config.alone === true) await this.repository.bury(tx);
      const previous_exit = await this.repository.previousExit(tx);
      await this.repository.register(tx, this.#identity);
      if (this.#works) await this.eventLog.append(tx, [started(previous_exit)]);
    });
    this.lifecycle.onStop('unready', 'shutdown event', () => this.#announceStop());
    this.lifecycle.onStop('background', 'process heartbeat', () => this.#end());
    this.#beating = this.#beat();
  }

  get #works(): boolean {
    return this.config.role !== 'api';
  }

  async #beat(): Promise<void> {
    const { signal } = this.#stop;
    for (let beats = 1; ; beats++) {
      await sleep(HEARTBEAT_MS, signal);
      if (signal.aborted) return;
      try {
        const before = Date.now();
        const beat = await this.transactions.run((tx) => this.repository.beat(tx, this.#identity.id));
        if (beat === undefined) await this.transactions.run((tx) => this.repository.register(tx, this.#identity));
        else this.#heard(beat, before);
        if (beats % PURGE_EVERY_BEATS === 0) await this.transactions.run((tx) => this.repository.purge(tx));
        this.#outage.worked();
      } catch (error) {
        this.#outage.failed(error, 'a heartbeat failed; it is tried again');
      }
    }
  }

  #heard({ probeAskedAt, now }: Beat, before: number): void {
    this.#clock.compare(now, before, Date.now());
    if (probeAskedAt === null || probeAskedAt === this.#probeAskedAt) return;
    this.#probeAskedAt = probeAskedAt;
    for (const listener of this.#probeListeners) listener();
  }

  async #announceStop(): Promise<void> {
    if (!this.#works) return;
    await this.transactions.run((tx) => this.eventLog.append(tx, [shutdown()]));
  }

  async #end(): Promise<void> {
    this.#stop.abort();
    await this.#beating;
    await this.transactions.run((tx) => this.repository.stop(tx, this.#identity.id));
  }
}

function started(previous_exit: 'clean' | 'crash' | 'unknown'): ReturnType<typeof event> {
  return event(SupervisorStarted, { stream: SUPERVISOR_STREAM, actor: ACTOR, payload: { previous_exit } });
}

function shutdown(): ReturnType<typeof event> {
  const payload = { mode: 'preserve_sessions', source: 'signal' } as const;
  return event(SupervisorShutdownRequested, { stream: SUPERVISOR_STREAM, actor: ACTOR, payload });
}
