import { doubled } from '../../../platform/time/doubled.js';
import { emptyPauseUntil, type EmptyRuns } from '../../sessions/session-store/empty-runs.js';
import { churnMs, endedByItself, poolRestsUntil } from '../../sessions/session-store/session-rest.js';
import type { SessionState, WakeRequest } from '../../sessions/session-store/session-states.js';
import { Capacity } from './capacity.js';
import type { Dependencies } from './pool-dependencies.js';
import type { OfferedBead, PoolAgent, PoolDecision, PoolFacts, PoolSession } from './pool-facts.js';
import { blockerOf, isOrphaned, type SessionContext } from './session-rules.js';

/** A session that is told of work and takes none is told again after this. */
const NUDGE_AGAIN_MS = 600_000;
/** It is told once more of what is new with it at once, then after this, and twice as long each time. */
const NEWS_AGAIN_MS = 60_000;
/** One in a turn without work for longer than this is busy with something else. */
const CLAIM_WITHIN_MS = 300_000;
const BEADS_NAMED = 5;
/** Only a person wakes a session that sleeps for one of these. */
const STAYS_DOWN = new Set(['auth-required', 'user-hold', 'provider-terminal-error', 'unconfirmed-dead']);

/** What a session is made for. */
export interface Work {
  readonly bead?: string | undefined;
  /** When the newest of it was changed last, or assigned. */
  readonly at?: number | undefined;
}

/** When the pause of a route's work is over, or of an agent's minimum. */
export function cooldownUntil(runs: EmptyRuns | undefined): number {
  return runs === undefined || runs.count === 0 ? -Infinity : emptyPauseUntil(runs);
}

/** What a city has for its demand: its sessions, which it wakes and tells, and names and places for more, within the limits. */
export class Supply {
  readonly times: number[] = [];
  readonly decisions: PoolDecision[] = [];
  readonly agents: ReadonlyMap<string, PoolAgent>;
  readonly #capacity: Capacity;
  /** Slots and single names that are taken, by name. */
  readonly #names: Set<string>;

  constructor(
    private readonly facts: PoolFacts,
    private readonly contexts: ReadonlyMap<number, SessionContext>,
    /** Sessions about which something is decided already. */
    private readonly decided: Set<number>,
    private readonly dependencies: Dependencies,
    /** Sessions that are closed before anything is made: their names are free. */
    private readonly leaving: ReadonlySet<number>,
  ) {
    this.#capacity = new Capacity(facts);
    this.agents = new Map(facts.agents.map((agent) => [agent.name, agent]));
    this.#names = new Set([
      ...facts.sessions.flatMap(({ pk, agentName, alias }) => (leaving.has(pk) ? [] : [agentName ?? '', alias])),
      // Also while nobody bears them: no member of a pool can have such a name.
      ...facts.named.map(({ identity }) => identity),
    ]);
  }

  /** Something was left out for this pass alone. */
  get cut(): boolean {
    return this.#capacity.cut;
  }

  /** How many of an agent's take a place. */
  sessionsOf(agent: string): number {
    return this.#capacity.of(agent);
  }

  isDecided({ pk }: PoolSession): boolean {
    return this.decided.has(pk);
  }

  isLeaving({ pk }: PoolSession): boolean {
    return this.leaving.has(pk);
  }

  /** The session of a configured name. */
  bearer(identity: string): PoolSession | undefined {
    return this.facts.sessions.find((one) => one.identity === identity && !this.isReplaced(one));
  }

  /** It is closed by this very look, and its name is configured still: the next one may be made at once. */
  isReplaced(session: PoolSession): boolean {
    return this.leaving.has(session.pk) && this.#context(session).named !== undefined;
  }

  /** Those that take an agent's routed work: its pool, and every session of an agent that has only one. */
  workers({ name, settings }: PoolAgent): PoolSession[] {
    return this.facts.sessions.filter(
      ({ agent, origin, identity }) => agent === name && identity === null && (origin === 'pool' || settings.max === 1),
    );
  }

  /** How many more of them may be started beside those that could not be: these keep their places, and all wait while their pool rests. */
  seats(agent: PoolAgent, workers: readonly PoolSession[]): number {
    const failed = workers.filter(({ state }) => state === 'failed-create').length;
    const left = (agent.settings.max ?? Infinity) - this.#capacity.of(agent.name) - failed;
    const until = poolRestsUntil(
      workers
        .filter(({ pk }) => !this.decided.has(pk))
        .map(({ state, stateAt, readyAt }) => ({ failedAt: state === 'failed-create' ? stateAt : undefined, readyAt })),
    );
    if (until === undefined) return left;
    if (until > this.facts.now) {
      this.times.push(until);
      return 0;
    }
    const tried = workers.some(({ live, state, wake }) => !live && (isStarting(state) || (state === 'asleep' && wake !== null)));
    return tried ? 0 : Math.min(1, left);
  }

  isFree(session: PoolSession): boolean {
    return session.held.length === 0 && session.messages === 0 && this.#context(session).assigned.length === 0;
  }

  /** It is about to take work: being started for it, or in its first turns. */
  isComing(session: PoolSession): boolean {
    if (session.held.length > 0 || session.stop !== null) return false;
    const { state, wake, messages, inTurn, activityAt, live } = session;
    if (state === 'start-pending' || state === 'creating' || (state === 'asleep' && wake !== null)) return true;
    if (state !== 'active') return false;
    return !live || messages > 0 || (inTurn && this.facts.now - activityAt < CLAIM_WITHIN_MS);
  }

  /** Its provider says "too much", and another session would be told the same. */
  isLimited({ reason, notBefore }: PoolSession): boolean {
    return reason === 'rate_limit' && notBefore !== undefined && notBefore > this.facts.now;
  }

  isIdle({ state, live, inTurn, stop, messages }: PoolSession): boolean {
    return state === 'active' && live && !inTurn && stop === null && messages === 0;
  }

  /**
   * Has a session take up work, the most urgent first: wakes it, or tells it when it is idle. What others did `since` they may have changed.
   * True when it is on its way to it.
   */
  engage(session: PoolSession, work: readonly OfferedBead[], since = -Infinity): boolean {
    if (this.decided.has(session.pk)) return false;
    const sleeps = session.state === 'asleep';
    if (!sleeps && (!this.isIdle(session) || session.asks || work.length === 0)) return false;
    const told = this.#newsFirst(session, work, since);
    const again = this.#tellAt(session, told, since);
    if (again > this.facts.now) {
      this.times.push(again);
      return false;
    }
    const beads = told.map(({ id }) => id);
    if (sleeps) return this.wake(session, 'work', beads, newestOf(work)?.at);
    this.add(session, { do: 'nudge', pk: session.pk, beads: beads.slice(0, BEADS_NAMED) });
    return true;
  }

  /** What has come since nobody of them did anything leads once behind what is known: one that stays before it holds up no other. */
  #newsFirst(session: PoolSession, work: readonly OfferedBead[], others: number): readonly OfferedBead[] {
    const newest = newestOf(work);
    if (newest === undefined || session.nudges[newest.id] !== undefined) return work;
    // It is told of all of them at once: a second message would say the same again.
    if (session.nudges[work[0]!.id] === undefined) return work;
    const idle = Math.max(session.state === 'asleep' ? session.stateAt : session.activityAt, others);
    return newest.at > idle ? [newest, ...work.filter((one) => one !== newest)] : work;
  }

  /** When a session may be told of work: at once of what its hook would give it and it does not know. */
  #tellAt(session: PoolSession, work: readonly OfferedBead[], others: number): number {
    const sleeps = session.state === 'asleep';
    const [first] = work;
    const newest = newestOf(work);
    // It may have work from several sides, each of which is told for itself. What has put it to sleep was that it did nothing with it.
    const told = sleeps && session.reason !== 'idle-timeout' ? undefined : session.nudges[first?.id ?? ''];
    if (told === undefined || newest === undefined) return -Infinity;
    // What has come since, and what has changed since it did something itself, is news, whatever it was told before.
    const isNew = session.nudges[newest.id] === undefined && newest.at > told;
    const isChanged = newest.at > Math.max(told, sleeps ? session.stateAt : session.activityAt, others);
    // Who changes it without end, be it the session itself, has it told more and more seldom.
    const often = session.nudged[first!.id] ?? 0;
    const pause = often < 2 ? 0 : doubled(often - 1, NEWS_AGAIN_MS, NUDGE_AGAIN_MS);
    return told + (isNew || isChanged ? pause : NUDGE_AGAIN_MS);
  }

  wake(session: PoolSession, why: WakeRequest, beads?: readonly string[], at = -Infinity): boolean {
    const { now } = this.facts;
    const context = this.#context(session);
    if (this.decided.has(session.pk) || session.state !== 'asleep' || session.wake !== null || session.hasRunner || session.stop !== null)
      return false;
    if (STAYS_DOWN.has(session.reason ?? '') || isOrphaned(session, context) || blockerOf(session, context, this.facts) !== undefined)
      return false;
    // Nobody has to be asked again and again whether it goes on: what ended soon waits longer each time.
    const churns = why === 'message' || !endedByItself(session.reason) ? 0 : session.churns;
    const soonest = Math.max(session.heldUntil ?? 0, churns === 0 ? 0 : session.stateAt + churnMs(churns));
    if (soonest > now) {
      this.times.push(soonest);
      return false;
    }
    if (why !== 'message' && this.#waits(context.agent, Math.max(session.stateAt, soonest, at))) return false;
    if (!this.#capacity.take(context.agent, session.rig)) return false;
    this.add(session, { do: 'wake', pk: session.pk, why, ...(beads === undefined ? {} : { beads: beads.slice(0, BEADS_NAMED) }) });
    return true;
  }

  /** Nothing is started before the agents that it depends on run; they are, instead. */
  #waits(agent: PoolAgent | undefined, since: number | undefined): boolean {
    if (agent === undefined || this.dependencies.missing(agent.name).length === 0) return false;
    this.dependencies.need(agent.name, since);
    return true;
  }

  create(agent: PoolAgent, slot: number | null, name: string, why: WakeRequest, { bead, at }: Work = {}): boolean {
    if (agent.blocked !== undefined || agent.settings.max === 0 || this.#names.has(name) || !agent.startable()) return false;
    if (this.#waits(agent, at) || !this.#capacity.take(agent, agent.rig)) return false;
    this.#names.add(name);
    this.decisions.push({ do: 'create', agent: agent.name, slot, name, why, ...(bead === undefined ? {} : { bead }) });
    return true;
  }

  materialize(identity: string, agent: string | undefined, why: WakeRequest, { bead, at }: Work = {}): void {
    const its = agent === undefined ? undefined : this.agents.get(agent);
    if (its === undefined || its.blocked !== undefined || its.settings.max === 0 || !its.startable()) return;
    if (this.#waits(its, at) || !this.#capacity.take(its, its.rig)) return;
    this.decisions.push({ do: 'materialize', identity, why, ...(bead === undefined ? {} : { bead }) });
  }

  /** The lowest that is free; null for an agent that has one session only. */
  freeSlot(agent: PoolAgent): number | null {
    if (agent.settings.max === 1) return null;
    for (let slot = 1; ; slot++) if (!this.#names.has(agent.member(slot))) return slot;
  }

  #context(session: PoolSession): SessionContext {
    return this.contexts.get(session.pk)!;
  }

  add(session: PoolSession, decision: PoolDecision): void {
    this.decisions.push(decision);
    this.decided.add(session.pk);
  }
}

/** What was changed last. */
export function newestOf(beads: readonly OfferedBead[]): OfferedBead | undefined {
  return beads.reduce<OfferedBead | undefined>((newest, one) => (newest === undefined || one.at > newest.at ? one : newest), undefined);
}

function isStarting(state: SessionState): boolean {
  return state === 'start-pending' || state === 'creating';
}
