import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { AppConfig } from '../../platform/config/config.js';
import { Transactions } from '../../platform/database/transactions.js';
import { Failpoints } from '../../platform/failpoints/failpoints.js';
import { Lifecycle } from '../../platform/health/lifecycle.js';
import { repeat } from '../../platform/health/repeat.js';
import { AppLogger } from '../../platform/logging/logger.js';
import { Signals } from '../../platform/streams/signals.js';
import { sleep } from '../../platform/time/clock.js';
import { CityCommands, type CityCommand, type CommandEnd } from '../launch/city-commands.js';
import { FormulaFirings } from './formula-firings.js';
import { ORDERS_TOPIC, Firings, type FiringCity } from './firings.service.js';
import { FiringsRepository } from './firings.repository.js';
import type { Ended, FiringRow } from './order-rows.js';

/** Times in milliseconds, so that tests can shorten them. */
export class OrderRunnerTimings {
  /** How long a renewal holds, by the database's clock. */
  readonly leaseMs: number = 10_000;
  readonly renewMs: number = 2_000;
  /** Without a renewal for this long a command is ended here. Less than the lease. */
  readonly holdMs: number = 8_000;
  readonly pollMs: number = 1_000;
  /** Commands at once. */
  readonly atOnce: number = 16;

  constructor(overrides: Partial<OrderRunnerTimings> = {}) {
    Object.assign(this, overrides);
  }
}

interface Running {
  readonly firing: FiringRow;
  readonly stop: AbortController;
  renewedAt: number;
  lost: boolean;
}

/** Carries firings out on this host: what waits longest, of each city in turn. A lease says that it is still at it. */
@Injectable()
export class OrderRunner implements OnApplicationBootstrap {
  readonly #running = new Map<number, Running>();
  readonly #works = new Set<Promise<void>>();
  #wake: (() => void) | undefined;
  #more = false;
  #renewing: Promise<void> | undefined;

  constructor(
    private readonly config: AppConfig,
    private readonly repository: FiringsRepository,
    private readonly firings: Firings,
    private readonly commands: CityCommands,
    private readonly formulas: FormulaFirings,
    private readonly transactions: Transactions,
    private readonly timings: OrderRunnerTimings,
    private readonly signals: Signals,
    private readonly lifecycle: Lifecycle,
    private readonly failpoints: Failpoints,
    private readonly log: AppLogger,
  ) {}

  get worker(): string {
    return this.config.processId;
  }

  onApplicationBootstrap(): void {
    if (this.config.runnerCapacity === 0) return;
    const unlisten = this.signals.onTopics((topics) => {
      if (topics !== 'all' && !topics.has(ORDERS_TOPIC)) return;
      this.#more = true;
      this.#wake?.();
    });
    this.lifecycle.onStop('worker', 'hints of firings', unlisten);
    repeat(this.lifecycle, this.log, { name: 'commands of orders', everyMs: 10, work: (signal) => this.#turn(signal) });
    repeat(this.lifecycle, this.log, { name: 'leases of firings', everyMs: this.timings.renewMs, work: () => this.#startRenewal() });
    this.lifecycle.onStop('worker', 'running commands of orders', () => this.stop());
  }

  /** Ends what runs, and gives it to others where that may be done twice. */
  async stop(): Promise<void> {
    for (const { stop } of this.#running.values()) stop.abort();
    await Promise.allSettled(this.#works);
  }

  async #turn(signal: AbortSignal): Promise<void> {
    if (!this.#more || this.#running.size >= this.timings.atOnce) await this.#hint(signal);
    this.#more = false;
    if (!signal.aborted) await this.take();
  }

  /** Takes as much as there is room for. Answers how many firings. */
  async take(): Promise<number> {
    const room = this.timings.atOnce - this.#running.size;
    if (room <= 0) return 0;
    const taken = await this.transactions.run((tx) => this.repository.claim(tx, this.worker, room, this.timings.leaseMs));
    for (const firing of taken) {
      const running: Running = { firing, stop: new AbortController(), renewedAt: performance.now(), lost: false };
      this.#running.set(firing.pk, running);
      const work = this.#carryOut(running).finally(() => {
        this.#running.delete(firing.pk);
        this.#works.delete(work);
        this.#more = true;
        this.#wake?.();
      });
      this.#works.add(work);
    }
    return taken.length;
  }

  /** When all that was taken has ended. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#works);
  }

  async #carryOut(running: Running): Promise<void> {
    const { firing } = running;
    try {
      const city = { name: (await this.repository.stream(firing.stream_id)) ?? '', streamId: firing.stream_id };
      if (firing.state === 'checking' && !(await this.#check(city, running))) return;
      await this.failpoints.hit('order.begun');
      if (firing.definition.formula !== undefined) return await this.formulas.carryOut(firing, this.worker);
      const end = await this.commands.run(commandOf(city, firing, 'exec'), running.stop.signal);
      if (running.lost) return;
      if (end.how === 'aborted') return await this.#stopped(city, firing, end);
      await this.failpoints.hit('order.before_end');
      await this.#persist(() => this.firings.end(city, firing, this.worker, endedBy(firing, end)));
    } catch (error) {
      // Its lease runs out, and it is told to be lost.
      this.log.warn({ err: error, firing: firing.id, order: firing.scoped_name }, 'a firing could not be carried out to its end');
    }
  }

  async #check(city: FiringCity, running: Running): Promise<boolean> {
    const { firing, stop } = running;
    const end = await this.commands.run(commandOf(city, firing, 'check'), stop.signal);
    if (running.lost) return false;
    if (end.how === 'exited') return this.firings.passed(city, firing, this.worker);
    if (end.how === 'aborted') await this.firings.giveBack(city, firing, this.worker);
    else {
      const { check_timeout: limit } = firing.definition;
      const note = end.how === 'timeout' ? `check command timed out after ${limit} ms` : `check command failed: ${end.error ?? ''}`;
      await this.firings.refused(city, firing, this.worker, note);
    }
    return false;
  }

  /** This process stops: what may be done twice goes to another one. */
  async #stopped(city: FiringCity, firing: FiringRow, { output }: CommandEnd): Promise<void> {
    if (firing.definition.idempotent) await this.firings.giveBack(city, firing, this.worker);
    else await this.firings.end(city, firing, this.worker, { outcome: 'canceled', error: 'the worker was stopped', output });
  }

  /** The command has run: that is told as long as the lease lasts, whatever the database says at first. */
  async #persist(write: () => Promise<unknown>): Promise<void> {
    for (let wait = 100; ; wait *= 2) {
      try {
        await write();
        return;
      } catch (error) {
        if (wait > this.timings.holdMs) throw error;
        await sleep(wait);
      }
    }
  }

  #startRenewal(): Promise<void> {
    // One that hangs must not keep this from being seen.
    this.#renewing ??= this.#renew().finally(() => (this.#renewing = undefined));
    for (const running of this.#running.values()) if (performance.now() - running.renewedAt > this.timings.holdMs) this.#lose(running);
    return Promise.race([this.#renewing, sleep(this.timings.renewMs)]);
  }

  async #renew(): Promise<void> {
    const sentAt = performance.now();
    const pks = [...this.#running.keys()];
    if (pks.length === 0) return;
    const held = await this.repository.renew(this.worker, pks, this.timings.leaseMs);
    for (const pk of pks) {
      const running = this.#running.get(pk);
      if (running === undefined) continue;
      if (held.has(pk)) running.renewedAt = sentAt;
      else this.#lose(running);
    }
  }

  #lose(running: Running): void {
    if (running.lost) return;
    running.lost = true;
    this.log.warn({ firing: running.firing.id }, 'the lease of a firing is lost; its command is ended');
    running.stop.abort();
  }

  async #hint(signal: AbortSignal): Promise<void> {
    const stop = new AbortController();
    this.#wake = () => stop.abort();
    await sleep(this.timings.pollMs, AbortSignal.any([signal, stop.signal]));
    this.#wake = undefined;
  }
}

function endedBy({ definition }: FiringRow, { how, code, output, error }: CommandEnd): Ended {
  const exitCode = code ?? undefined;
  if (how === 'exited') return { outcome: 'success', exitCode, output };
  if (how === 'timeout') return { outcome: 'timeout', output, error: `the command was not done within ${definition.timeout} ms` };
  return { outcome: 'failed', exitCode, output, error };
}

/** What the command of an order gets beside what every command of its city has. */
function commandOf(city: FiringCity, firing: FiringRow, what: 'exec' | 'check'): CityCommand {
  const { definition, event, vars } = firing;
  const said: Record<string, string> = {
    SVC_ORDER: firing.scoped_name,
    SVC_ORDER_FIRING: firing.id,
    SVC_ORDER_CAUSE: firing.cause,
    SVC_AGENT: `order:${firing.scoped_name}`,
    BEADS_ACTOR: `order:${firing.scoped_name}`,
  };
  for (const [name, value] of Object.entries(vars)) {
    said[`SVC_VAR_${name}`] = value;
    // The name that commands of orders have known it by.
    said[`GC_WEBHOOK_ARG_${name}`] = value;
  }
  if (event !== null) {
    said.SVC_EVENT = JSON.stringify(event);
    said.SVC_EVENT_TYPE = event.type;
    said.SVC_EVENT_SEQ = String(event.seq);
    said.SVC_EVENT_SUBJECT = event.subject ?? '';
    said.SVC_EVENT_COUNT = String(event.count);
  }
  return {
    city,
    rig: firing.rig,
    line: what === 'exec' ? definition.exec! : definition.check!,
    owner: firing.scoped_name,
    id: firing.id,
    file: definition.file,
    env: definition.env,
    said,
    timeoutMs: what === 'exec' ? definition.timeout : definition.check_timeout,
  };
}
