import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Db } from '../../../platform/database/database.js';
import { DuePoller } from '../../../platform/database/due-poller.js';
import { AppConfig } from '../../../platform/config/config.js';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import { Metrics } from '../../../platform/health/metrics.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { Outage } from '../../../platform/logging/outage.js';
import { Signals, type Signalled } from '../../../platform/streams/signals.js';
import { UnconfirmedDead } from '../../../platform/runtime/port.js';
import { sleep } from '../../../platform/time/clock.js';
import { toldSessions, WANTED_TOPIC } from '../../sessions/session-store/topics.js';
import { ClaimsRepository } from './claims.repository.js';
import { Poller } from './poller.js';
import { InboxRepository } from './inbox.repository.js';
import { OrphanReaper } from './orphan-reaper.js';
import type { RunnerLease } from './runner-lease.js';
import { startPlacesOf } from './placement.js';
import { RunnerRegistry } from './runner-registry.js';
import { RunnerContext } from './runner-context.js';
import { SessionActor } from './session-actor.js';
import { SessionClaims, type Claimed } from './session-claims.js';
import { OrphanedSessions, type Stray } from './orphaned-sessions.js';

const ENDED_MS = 30_000;

/**
 * This process as a runner of sessions: it takes sessions that are wanted, has one actor for each, and brings them what its
 * inbox holds. Two looks at the database, however many sessions there are: one for the wanted, one for its own. A signal says of which of its own;
 * all are looked at each second.
 */
@Injectable()
export class Runner implements OnApplicationBootstrap {
  readonly #actors = new Map<number, SessionActor>();
  readonly #claims: Poller;
  readonly #inbox: Poller;
  readonly #orphaned: OrphanedSessions;
  /** Those of which something was heard since the last look into the inbox; `all` each `pollMs`, and where it is not known of which. */
  #heard: Set<number> | 'all' = 'all';
  /** Counts looks into the inbox: an actor made after a look began may be missing in what it found. */
  #looks = 0;
  readonly #bornIn = new WeakMap<SessionActor, number>();
  #clean = false;
  /** Until then this host has nothing left for another process. */
  #shortUntil = -Infinity;
  #handing = false;

  constructor(
    private readonly app: AppConfig,
    private readonly db: Db,
    private readonly registry: RunnerRegistry,
    private readonly claims: SessionClaims,
    private readonly inbox: InboxRepository,
    private readonly orphans: OrphanReaper,
    private readonly context: RunnerContext,
    private readonly wanted: ClaimsRepository,
    private readonly due: DuePoller,
    private readonly signals: Signals,
    private readonly lifecycle: Lifecycle,
    private readonly log: AppLogger,
    metrics: Metrics,
  ) {
    const { pollMs } = context.timings;
    const never = (): boolean => false;
    this.#claims = poller(
      pollMs,
      () => this.#claim(),
      log,
      ['wanted sessions could not be taken', 'wanted sessions are taken again'],
      never,
    );
    // What its sessions are told is read as long as there are any; one that the database alone knows of is told by a look.
    const any = (): boolean => this.#actors.size > 0;
    this.#inbox = poller(
      pollMs,
      () => this.#look(),
      log,
      ['the inbox of this runner could not be read', 'the inbox of this runner is read again'],
      any,
    );
    this.#orphaned = new OrphanedSessions(context, db);
    const gauge = metrics.gauge({
      name: 'svc_runner_sessions',
      help: 'Sessions that this process runs.',
      labelNames: ['phase'] as const,
      collect: () => {
        gauge.set({ phase: 'starting' }, this.#count('starting'));
        gauge.set({ phase: 'held' }, this.#count('held'));
        gauge.set({ phase: 'started' }, this.#actors.size - this.#count('starting') - this.#count('held'));
      },
    });
    metrics.gauge({ name: 'svc_runner_capacity', help: 'Sessions that this process may run at once.' }).set(app.runnerCapacity);
  }

  /** Sessions of this runner, by pk. */
  get sessions(): ReadonlyMap<number, { readonly generation: number; readonly inTurn: boolean; readonly starting: boolean }> {
    return this.#actors;
  }

  get runnerId(): string | undefined {
    return this.registry.lease?.id;
  }

  onApplicationBootstrap(): void {
    if (this.app.runnerCapacity === 0) return;
    const unlisten = this.signals.onTopics((topics) => this.#hear(topics));
    this.registry.start(
      (lease) => this.#registered(lease),
      (stopping) => this.#allDone(ENDED_MS, stopping),
    );
    this.due.watch(this.context.timings.pollMs, this.wanted.isWanted, () => this.#claims.ask());
    this.due.watch(this.context.timings.pollMs, this.inbox.isHeld, () => this.#askOfAll());
    this.#claims.start();
    this.#inbox.start();
    this.lifecycle.onStop(
      'worker',
      'runner',
      async () => {
        await this.handOver();
        unlisten();
      },
      { limitMs: this.context.timings.handoverLimitMs },
    );
  }

  /** Looks at once for what is wanted and for what its sessions are told, and has acted on it when this resolves. */
  async look(): Promise<void> {
    this.#heard = 'all';
    await Promise.all([this.#claims.turn(), this.#inbox.turn()]);
  }

  /** Ends everything in order: no new sessions, turns get a while, then the processes are stopped and given to others. */
  async handOver(): Promise<void> {
    this.#handing = true;
    await this.registry.drain().catch((error: unknown) => this.log.warn({ err: error }, 'others are not told that this runner ends'));
    await this.#claims.stop();
    for (const actor of this.#actors.values()) actor.handOver(false);
    const { handoverMs, handoverLimitMs } = this.context.timings;
    // Where one start has everything nobody goes on with the turns, and a person waits at the terminal.
    const patience = this.app.role === 'all' || this.app.processName !== undefined ? handoverMs / 5 : handoverMs;
    await this.#allDone(patience);
    for (const actor of this.#actors.values()) actor.handOver(true);
    await this.#allDone(handoverLimitMs - patience - 1_000);
    await this.#inbox.stop();
    await this.registry.end();
  }

  #registered(lease: RunnerLease): void {
    this.#clean = false;
    void this.#cleanUp(lease);
  }

  /**
   * Before anything is started here, what nobody of this host runs any more is ended; after that, what others leave. What cannot be ended
   * keeps nothing else from starting: whoever starts something ends first what is left of it.
   */
  async #cleanUp(lease: RunnerLease): Promise<void> {
    const { unconfirmedMs, leftoversMs } = this.context.timings;
    let again = true;
    while (!lease.signal.aborted && !this.#handing) {
      try {
        if (again || (await this.registry.hasNeighbours(lease))) await this.orphans.end(this.registry.machine);
        again = false;
      } catch (error) {
        again = true;
        this.log.warn({ err: error }, 'processes that nobody runs could not be ended; it is tried again');
        if (!(error instanceof UnconfirmedDead)) {
          await sleep(unconfirmedMs, lease.signal);
          continue;
        }
      }
      if (!this.#clean) {
        this.#clean = true;
        this.#claims.ask();
      }
      await sleep(again ? unconfirmedMs : leftoversMs, lease.signal);
    }
  }

  #hear(topics: Signalled): void {
    const id = this.registry.lease?.id;
    if (topics === 'all' || topics.has(WANTED_TOPIC)) this.#claims.ask();
    if (topics === 'all') return this.#askOfAll();
    if (id === undefined) return;
    const told = toldSessions(topics, id);
    if (told === 'all') return this.#askOfAll();
    const pks = told.filter((pk) => this.#actors.has(pk));
    if (pks.length === 0) return;
    if (this.#heard !== 'all') for (const pk of pks) this.#heard.add(pk);
    this.#inbox.ask();
  }

  #askOfAll(): void {
    this.#heard = 'all';
    this.#inbox.ask();
  }

  async #claim(): Promise<void> {
    const lease = this.registry.lease;
    if (lease === undefined || !this.#clean || !this.registry.accepting || performance.now() < this.#shortUntil) return;
    const { startsAtOnce } = this.context.timings;
    // With more starts than that waiting for the end of an earlier process, something is wrong with this host, or with one city's rig:
    // others take most of what is wanted, and here cities have their turns one by one.
    const most = this.#count('held') > startsAtOnce ? 1 : startsAtOnce;
    const starting = this.#count('starting');
    // Where slow ones have all places, cities have their turns one by one: a start takes as long as its city likes.
    const free = starting < most ? most - starting : 1 - (starting - this.#count('slow'));
    const room = Math.min(free, this.registry.capacity - this.#actors.size);
    if (room <= 0) return;
    const adopt = (claimed: Claimed): void => this.#adopt(this.#actor(claimed, lease));
    const starts = {
      held: this.#startsOfCities(),
      limits: startPlacesOf(starting >= most ? startsAtOnce : most),
      isFull: starting >= most,
    };
    await this.#orphaned.while(() => this.claims.claim(lease, room, adopt, starts));
  }

  #startsOfCities(): Map<number, number> {
    const starts = new Map<number, number>();
    for (const { starting, streamId } of this.#actors.values()) if (starting) starts.set(streamId, (starts.get(streamId) ?? 0) + 1);
    return starts;
  }

  #actor(claimed: Claimed, lease: RunnerLease): SessionActor {
    const short = (): void => void (this.#shortUntil = performance.now() + this.context.timings.shortMs);
    return new SessionActor(this.context, claimed, lease, () => this.#claims.ask(), short);
  }

  #adopt(actor: SessionActor): void {
    const before = this.#actors.get(actor.pk);
    before?.fence();
    this.#actors.set(actor.pk, actor);
    this.#bornIn.set(actor, this.#looks);
    if (this.#handing) actor.handOver(false);
    void actor.done.then(() => {
      if (this.#actors.get(actor.pk) === actor) this.#actors.delete(actor.pk);
      this.#claims.ask();
    });
  }

  async #look(): Promise<void> {
    const lease = this.registry.lease;
    if (lease === undefined) return;
    const look = ++this.#looks;
    const some = this.#heard === 'all' || this.#heard.size === 0 ? undefined : [...this.#heard];
    this.#heard = new Set();
    const { held, items } = await this.inbox.read(this.db, lease.id, some);
    if (!lease.held) return;
    const told = new Map(items.map((item) => [item.pk, item]));
    const strays: Stray[] = [];
    for (const [pk, generation] of held) {
      const actor = this.#actors.get(pk);
      if (actor?.generation === generation) actor.deliver(told.get(pk));
      else strays.push({ pk, generation });
    }
    for (const pk of some ?? this.#actors.keys()) {
      const actor = this.#actors.get(pk);
      if (actor !== undefined && held.get(pk) !== actor.generation && this.#bornIn.get(actor)! < look) actor.fence();
    }
    if (some === undefined) await this.#orphaned.settle(lease, strays);
  }

  #count(how: 'starting' | 'held' | 'slow'): number {
    let count = 0;
    for (const actor of this.#actors.values()) if (actor[how]) count++;
    return count;
  }

  /** Every actor has ended its process, or the time is over. */
  async #allDone(ms: number, hurry?: AbortSignal): Promise<void> {
    const over = new AbortController();
    const limit = hurry === undefined ? over.signal : AbortSignal.any([over.signal, hurry]);
    await Promise.race([Promise.all([...this.#actors.values()].map((actor) => actor.done)), sleep(Math.max(0, ms), limit)]);
    over.abort();
  }
}

/** Of whose failures the log has the first of an outage, and its end. */
function poller(
  everyMs: number,
  work: () => Promise<void>,
  log: AppLogger,
  [failure, again]: readonly [string, string],
  needed: () => boolean,
): Poller {
  const outage = new Outage(log, again);
  const turn = async (): Promise<void> => {
    await work();
    outage.worked();
  };
  return new Poller(everyMs, turn, (error) => outage.failed(error, `${failure}; it is tried again`), needed);
}
