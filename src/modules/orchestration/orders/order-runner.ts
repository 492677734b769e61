import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import type { Gauge } from 'prom-client';
import { AppConfig } from '../../../platform/config/config.js';
import { DuePoller } from '../../../platform/database/due-poller.js';
import { Transactions } from '../../../platform/database/transactions.js';
import { Failpoints } from '../../../platform/failpoints/failpoints.js';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import { Metrics } from '../../../platform/health/metrics.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { Signals } from '../../../platform/streams/signals.js';
import { sleep } from '../../../platform/time/clock.js';
import { SessionTokens } from '../../sessions/session-tokens/session-tokens.service.js';
import { CityCommands, type CityCommand, type CommandEnd } from '../../sessions/launch/city-commands.js';
import { LeasedWork, LeaseTimings, type Held } from '../../sessions/launch/leased-work.js';
import { BUSY_MS } from '../../sessions/launch/passing.js';
import type { Places } from '../../sessions/launch/places.js';
import { FormulaFirings } from './formula-firings.js';
import { ORDERS_TOPIC, Firings, type FiringCity } from './firings.service.js';
import { FiringsRepository } from './firings.repository.js';
import type { ClaimedFiring, Ended, FiringKind, FiringRow } from './order-rows.js';

/** Places for launches for each one for commands: a launch is a share of a transaction, a command a process. */
const LAUNCHES = 4;

/**
 * Carries firings out on this host: what waits longest, of each city in turn. Launches have places of their own: they take a moment,
 * and do not wait for commands that take minutes.
 */
@Injectable()
export class OrderRunner implements OnApplicationBootstrap {
  readonly #leased: Readonly<Record<FiringKind, LeasedWork<ClaimedFiring>>>;

  constructor(
    private readonly config: AppConfig,
    private readonly repository: FiringsRepository,
    private readonly firings: Firings,
    private readonly commands: CityCommands,
    private readonly formulas: FormulaFirings,
    private readonly tokens: SessionTokens,
    private readonly transactions: Transactions,
    private readonly timings: LeaseTimings,
    private readonly signals: Signals,
    private readonly due: DuePoller,
    private readonly lifecycle: Lifecycle,
    private readonly failpoints: Failpoints,
    private readonly log: AppLogger,
    metrics: Metrics,
  ) {
    const leased = (kind: FiringKind, name: string): LeasedWork<ClaimedFiring> => {
      const source = {
        due: repository.isWaiting(kind),
        name,
        topic: ORDERS_TOPIC,
        claim: (places: Places) =>
          this.transactions.run((tx) => this.repository.claim(tx, kind, this.worker, places, this.timings.leaseMs)),
        renew: (pks: readonly number[]) => this.repository.renew(this.worker, pks, this.timings.leaseMs),
        carryOut: (held: Held<ClaimedFiring>) => this.#carryOut(held),
      };
      return new LeasedWork(source, new LeaseTimings({ ...timings, atOnce: this.#places(kind) }), log);
    };
    this.#leased = { command: leased('command', 'commands of orders'), launch: leased('launch', 'runs of orders') };
    this.#tell(metrics);
  }

  get worker(): string {
    return this.config.processId;
  }

  onApplicationBootstrap(): void {
    if (this.config.runnerCapacity > 0) for (const leased of this.#all) leased.begin(this.signals, this.due, this.lifecycle);
  }

  /** Ends what runs, and gives it to others where that may be done twice. */
  async stop(): Promise<void> {
    await Promise.all(this.#all.map((leased) => leased.stop()));
  }

  /** Takes as much as there is room for. Answers how many firings. */
  async take(): Promise<number> {
    let taken = 0;
    for (const leased of this.#all) taken += await leased.take();
    return taken;
  }

  /** When all that was taken has ended. */
  async idle(): Promise<void> {
    await Promise.all(this.#all.map((leased) => leased.idle()));
  }

  get #all(): readonly LeasedWork<ClaimedFiring>[] {
    return Object.values(this.#leased);
  }

  #places(kind: FiringKind): number {
    return this.timings.atOnce * (kind === 'launch' ? LAUNCHES : 1);
  }

  /** Whoever sees firings wait, and all places of the workers taken, needs more workers. */
  #tell(metrics: Metrics): void {
    const running: Gauge<'kind'> = metrics.gauge({
      name: 'svc_order_firings_running',
      help: `Firings of orders that this process carries out, by kind, in ${this.#places('command')} and ${this.#places('launch')} places, and ${this.timings.spared} more for cities that have none under way.`,
      labelNames: ['kind'],
      collect: () => Object.entries(this.#leased).forEach(([kind, { running: count }]) => running.set({ kind }, count)),
    });
    const waiting: Gauge<'kind'> = metrics.gauge({
      name: 'svc_order_firings_waiting',
      help: 'Firings of orders in the database that wait for a place on a worker, by kind.',
      labelNames: ['kind'],
      collect: async () => {
        const counts = await metrics.known('waiting firings', () => this.repository.waiting());
        if (counts === undefined) return waiting.reset();
        for (const [kind, count] of Object.entries(counts)) waiting.set({ kind }, count);
      },
    });
  }

  /** What fails is told to be lost when its lease has run out. */
  async #carryOut(held: Held<ClaimedFiring>): Promise<void> {
    const { row: firing, signal } = held;
    // Somebody who has it run may do so however it is switched.
    if (firing.active === false && firing.cause !== 'run') return this.firings.callOff(await this.#cityOf(firing), firing, this.worker);
    if (firing.definition.formula !== undefined && firing.state !== 'checking') return this.#launch(held);
    const city = await this.#cityOf(firing);
    const { token, hash } = this.tokens.mintCommand({ kind: 'firing', pk: firing.pk });
    if (!(await this.repository.grant(firing, this.worker, hash))) return;
    if (firing.state === 'checking' && !(await this.#check(city, held, token))) return;
    if (firing.definition.formula !== undefined) return this.#launch(held);
    await this.failpoints.hit('order.begun');
    const end = await this.commands.run(commandOf(city, firing, token, 'exec'), signal);
    if (held.lost) return;
    if (end.how === 'busy') return this.#later(city, held, end.error);
    if (end.how === 'aborted') return this.#stopped(city, held, end);
    await this.failpoints.hit('order.before_end');
    await this.#end(city, held, endedBy(firing, end));
  }

  async #launch(held: Held<ClaimedFiring>): Promise<void> {
    await this.failpoints.hit('order.begun');
    const unlaunched = await this.formulas.carryOut(held.row, this.worker);
    if (unlaunched === undefined) return;
    const { passes, error } = unlaunched;
    const city = await this.#cityOf(held.row);
    await (passes ? this.#later(city, held, error, 'debug') : this.#end(city, held, { outcome: 'failed', error }));
  }

  async #cityOf({ stream_id: streamId }: FiringRow): Promise<FiringCity> {
    return { name: (await this.repository.stream(streamId)) ?? '', streamId };
  }

  async #check(city: FiringCity, held: Held<ClaimedFiring>, token: string): Promise<boolean> {
    const { row: firing, signal } = held;
    const end = await this.commands.run(commandOf(city, firing, token, 'check'), signal);
    if (held.lost) return false;
    if (end.how === 'exited') return this.firings.passed(city, firing, this.worker);
    if (end.how === 'busy') await this.#later(city, held, end.error);
    else if (end.how === 'aborted') await this.#giveBack(city, held);
    else {
      const { check_timeout: limit } = firing.definition;
      const note = end.how === 'timeout' ? `check command timed out after ${limit} ms` : `check command failed: ${end.error ?? ''}`;
      await this.firings.refused(city, firing, this.worker, note);
    }
    return false;
  }

  /** It has not begun, and may elsewhere, or after a moment. A host that begins nothing is worth a word each time; a busy city may say it of many. */
  async #later(city: FiringCity, held: Held<ClaimedFiring>, error: string | undefined, level: 'warn' | 'debug' = 'warn'): Promise<void> {
    const { row: firing, signal } = held;
    this.log[level]({ city: city.name, firing: firing.id, error }, 'a firing could not begin here just now; it is given back');
    await sleep(BUSY_MS, signal);
    await this.#giveBack(city, held, true);
  }

  /** This process stops: what may be done twice goes to another one. */
  async #stopped(city: FiringCity, held: Held<ClaimedFiring>, { output }: CommandEnd): Promise<void> {
    if (held.row.definition.idempotent) await this.#giveBack(city, held);
    else await this.#end(city, held, { outcome: 'canceled', error: 'the worker was stopped', output });
  }

  /** What made it wait may be the database, and what has not begun is not to be taken for lost. */
  #giveBack(city: FiringCity, held: Held<ClaimedFiring>, unbegun = false): Promise<void> {
    return this.#leased.command.persist(held, () => this.firings.giveBack(city, held.row, this.worker, unbegun));
  }

  #end(city: FiringCity, held: Held<ClaimedFiring>, ended: Ended): Promise<void> {
    return this.#leased.command.persist(held, () => this.firings.end(city, held.row, this.worker, ended));
  }
}

function endedBy({ definition }: FiringRow, { how, code, output, error }: CommandEnd): Ended {
  const exitCode = code ?? undefined;
  if (how === 'exited') return { outcome: 'success', exitCode, output };
  if (how === 'timeout') return { outcome: 'timeout', output, error: `the command was not done within ${definition.timeout} ms` };
  return { outcome: 'failed', exitCode, output, error };
}

/** What the command of an order gets beside what every command of its city has. */
function commandOf(city: FiringCity, firing: FiringRow, token: string, what: 'exec' | 'check'): CityCommand {
  const { definition, event, vars } = firing;
  const said: Record<string, string> = {
    SVC_ORDER: firing.scoped_name,
    SVC_ORDER_FIRING: firing.id,
    SVC_ORDER_CAUSE: firing.cause,
    SVC_AGENT: `order:${firing.scoped_name}`,
    BEADS_ACTOR: `order:${firing.scoped_name}`,
    SVC_SESSION_TOKEN: token,
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
    attempt: firing.attempts,
    file: definition.file,
    env: definition.env,
    said,
    timeoutMs: what === 'exec' ? definition.timeout : definition.check_timeout,
  };
}
