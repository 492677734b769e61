import type { SessionState, WakeRequest } from '../../sessions/session-store/session-states.js';
import { Capacity } from './capacity.js';
import type { Dependencies } from './pool-dependencies.js';
import type { OfferedBead, PoolAgent, PoolDecision, PoolFacts, PoolNamed, PoolSession } from './pool-facts.js';
import { emptyPauseUntil, type EmptyRuns } from '../../sessions/session-store/empty-runs.js';
import { churnMs, endedByItself, poolRestsUntil } from '../../sessions/session-store/session-rest.js';
import { blockerOf, emptyFor, isOrphaned, workLeft, type SessionContext } from './session-rules.js';

/** A session that is told of work and takes none is told again after this. */
const NUDGE_AGAIN_MS = 600_000;
/** One in a turn without work for longer than this is busy with something else. */
const CLAIM_WITHIN_MS = 300_000;
const BEADS_NAMED = 5;
/** Only a person wakes a session that sleeps for one of these. */
const STAYS_DOWN = new Set(['auth-required', 'user-hold', 'provider-terminal-error', 'unconfirmed-dead']);

/** What a session is made for. */
interface Work {
  readonly bead?: string | undefined;
  /** When the newest of it was changed last, or assigned. */
  readonly at?: number | undefined;
}

/** When the pause of a route's work is over, or of an agent's minimum. */
function cooldownUntil(runs: EmptyRuns | undefined): number {
  return runs === undefined || runs.count === 0 ? -Infinity : emptyPauseUntil(runs);
}

/** What work, names and minimums ask of a city's sessions, most urgent first, within the limits. */
export class Demand {
  readonly times: number[] = [];
  readonly #decisions: PoolDecision[] = [];
  readonly #capacity: Capacity;
  readonly #agents: ReadonlyMap<string, PoolAgent>;
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
    this.#agents = new Map(facts.agents.map((agent) => [agent.name, agent]));
    this.#names = new Set([
      ...facts.sessions.flatMap(({ pk, agentName, alias }) => (leaving.has(pk) ? [] : [agentName ?? '', alias])),
      // Also while nobody bears them: no member of a pool can have such a name.
      ...facts.named.map(({ identity }) => identity),
    ]);
  }

  decide(): readonly PoolDecision[] {
    this.#resume();
    this.#always();
    this.#assigned();
    for (const named of this.facts.named) this.#routedToNamed(named);
    for (const agent of this.facts.agents) this.#routed(agent);
    for (const agent of this.facts.agents) this.#minimum(agent);
    for (const agent of this.facts.agents) if (this.dependencies.isNeeded(agent.name)) this.#sustain(agent);
    for (const agent of this.facts.agents) this.#shrink(agent);
    if (this.#capacity.cut) this.times.push(this.facts.now + 1_000);
    return this.#decisions;
  }

  /** Those that hold work or messages, are pinned, or were stopped with their city. */
  #resume(): void {
    for (const session of this.facts.sessions) {
      if (session.state !== 'asleep') continue;
      const { held, reason, origin, waits } = session;
      const killed = origin === 'manual' && reason === 'killed';
      if (session.messages > 0) this.#wake(session, 'message');
      else if (held.length > 0 && !waits && !killed) this.#wake(session, 'work', held);
      else if (reason === 'city-stop' && origin !== 'pool') this.#wake(session, 'restart');
      else if (session.pinned) this.#wake(session, 'pinned');
      else if (reason === 'config-drift') this.#wake(session, 'drift');
    }
  }

  #always(): void {
    for (const { identity, mode, agent } of this.facts.named) {
      if (mode !== 'always') continue;
      const session = this.#bearer(identity);
      if (session !== undefined) this.#wake(session, 'named');
      else this.#materialize(identity, agent, 'named');
    }
  }

  /** Work that is assigned to a name. */
  #assigned(): void {
    for (const [name, beads] of this.facts.assigned) {
      if (beads.length === 0) continue;
      const session = this.facts.sessions.find((one) => this.#bears(one, name) && !this.#isReplaced(one));
      const at = this.facts.assignedAt.get(name);
      if (session !== undefined) this.#engage(session, beads, at);
      else this.#bear(name, { bead: beads[0]!, at });
    }
  }

  #bears(session: PoolSession, name: string): boolean {
    if (session.id === name || session.sessionName === name || session.alias === name) return true;
    if (session.agentName !== name) return false;
    return session.origin !== 'manual' || this.#agents.get(name)?.settings.max === 1;
  }

  /** The session of a configured name. */
  #bearer(identity: string): PoolSession | undefined {
    return this.facts.sessions.find((one) => one.identity === identity && !this.#isReplaced(one));
  }

  /** It is closed by this very look, and its name is configured still: the next one may be made at once. */
  #isReplaced(session: PoolSession): boolean {
    return this.leaving.has(session.pk) && this.#context(session).named !== undefined;
  }

  /** Makes the session that a name stands for. */
  #bear(name: string, work: Work): void {
    const named = this.facts.named.find(({ identity }) => identity === name);
    if (named !== undefined) return this.#materialize(name, named.agent, 'work', work);
    const agent = this.#agents.get(name);
    if (agent !== undefined) {
      this.#create(agent, null, name, 'work', work);
      return;
    }
    for (const one of this.facts.agents) {
      const slot = one.slotOf(name);
      if (slot === undefined || one.settings.max === 1) continue;
      this.#create(one, slot, one.member(slot), 'work', work);
      return;
    }
  }

  /** Beads that are routed to a named session. */
  #routedToNamed({ identity, agent }: PoolNamed): void {
    const beads = this.facts.offered.get(identity) ?? [];
    if (beads.length === 0) return;
    const session = this.#bearer(identity);
    if (session !== undefined) this.#engage(session, newest(beads), newestAt(beads));
    else this.#materialize(identity, agent, 'work', { bead: beads[0]!.id, at: newestAt(beads) });
  }

  /** Beads that wait for an agent's pool, and for single members of it. */
  #routed(agent: PoolAgent): void {
    if (this.facts.named.some(({ identity }) => identity === agent.name)) return;
    for (const [route, beads] of this.facts.offered) {
      const slot = route === agent.name ? undefined : agent.slotOf(route);
      if (slot === undefined || agent.settings.max === 1 || beads.length === 0) continue;
      const member = this.facts.sessions.find(
        ({ pk, agentName, origin }) => agentName === route && origin !== 'manual' && !this.leaving.has(pk),
      );
      const fresh = member === undefined ? this.#fresh(agent, route) : [];
      if (member !== undefined) this.#engage(member, newest(beads), newestAt(beads));
      else if (fresh.length > 0) this.#create(agent, slot, agent.member(slot), 'work', { bead: fresh[0]!.id, at: newestAt(fresh) });
    }
    const beads = this.#fresh(agent, agent.name);
    const all = this.#offered(agent, agent.name);
    const cooling = cooldownUntil(this.facts.emptyRuns.get(agent.name)) > this.facts.now;
    const scale = cooling ? 0 : (this.facts.scale.get(agent.name) ?? 0);
    let need = Math.max(all.length, scale);
    if (need === 0) return;
    const workers = this.#workers(agent);
    const at = newestAt(beads);
    // What others have left is for those that are there: nobody is started for it.
    const left = need - Math.max(beads.length, scale);
    for (const session of workers) if (this.#isComing(session)) need--;
    for (const session of workers) {
      if (need <= 0 || !this.#isIdle(session) || !this.#isFree(session) || session.asks) continue;
      // Also one that has been told and took nothing: before it has gone, another one would do no better.
      need--;
      this.#engage(session, newest(all), at);
    }
    need -= left;
    if (workers.some((session) => this.#isLimited(session))) return;
    if (agent.settings.max === 1 && workers.length > 0) {
      // Nobody else takes its work: the one that sleeps is woken.
      if (need > 0) workers.some((session) => session.state === 'asleep' && this.#engage(session, newest(beads), at));
      return;
    }
    for (let n = Math.min(need, this.#seats(agent, workers)); n > 0; n--) {
      const slot = this.#freeSlot(agent);
      const name = slot === null ? agent.name : agent.member(slot);
      const bead = need === 1 && beads.length === 1 ? beads[0]!.id : undefined;
      if (!this.#create(agent, slot, name, 'work', { bead, at })) return;
    }
  }

  #minimum(agent: PoolAgent): void {
    const { min, max } = agent.settings;
    if (agent.blocked !== undefined || max === 0) return;
    const workers = this.#workers(agent);
    let missing = Math.min(min - this.#capacity.of(agent.name), this.#seats(agent, workers));
    for (const session of workers) if (missing > 0 && session.state === 'asleep' && this.#wake(session, 'minimum')) missing--;
    if (missing > 0 && this.#rests(agent)) return;
    for (; missing > 0; missing--) {
      const slot = this.#freeSlot(agent);
      if (!this.#create(agent, slot, slot === null ? agent.name : agent.member(slot), 'minimum')) return;
    }
  }

  /** Sees to it that one session runs of an agent that others depend on. */
  #sustain(agent: PoolAgent): void {
    const its = this.facts.sessions.filter((session) => session.agent === agent.name);
    if (its.some((session) => session.state === 'active' || this.#isComing(session))) return;
    if (its.some(({ state }) => state === 'failed-create') && this.#seats(agent, this.#workers(agent)) <= 0) return;
    const named = this.facts.named.find((one) => one.agent === agent.name);
    const asleep = this.#workers(agent).concat(its.filter(({ identity }) => identity !== null && identity === named?.identity));
    const at = this.dependencies.neededSince(agent.name);
    if (asleep.some((session) => this.#wake(session, 'dependency', undefined, at))) return;
    if (named !== undefined) {
      if (its.every(({ identity }) => identity !== named.identity)) this.#materialize(named.identity, agent.name, 'dependency', { at });
      return;
    }
    if ((agent.settings.max === 1 && asleep.length > 0) || this.#rests(agent, at)) return;
    const slot = this.#freeSlot(agent);
    this.#create(agent, slot, slot === null ? agent.name : agent.member(slot), 'dependency', { at });
  }

  /** Nothing is started before the agents that it depends on run; they are, instead. */
  #waits(agent: PoolAgent | undefined, since: number | undefined): boolean {
    if (agent === undefined || this.dependencies.missing(agent.name).length === 0) return false;
    this.dependencies.need(agent.name, since);
    return true;
  }

  /** Drains what has nothing to do, the longest idle first, and takes back starts that nobody needs any more. */
  #shrink(agent: PoolAgent): void {
    const { settings } = agent;
    const keep = Math.max(this.dependencies.isNeeded(agent.name) ? 1 : 0, Math.min(settings.min, settings.max ?? Infinity));
    let left = this.#capacity.of(agent.name);
    const over = (): boolean => settings.max !== undefined && left > settings.max;
    const { graceMs } = this.facts.settings;
    const free = this.#workers(agent)
      .filter((session) => session.origin === 'pool' && !this.decided.has(session.pk) && this.#isFree(session))
      .sort((a, b) => a.activityAt - b.activityAt);
    for (const session of free) {
      if (left <= keep) return;
      if (!this.#isIdle(session) || session.asks || session.pinned) continue;
      const idleSince = Math.max(session.activityAt, session.readyAt ?? 0);
      const until = idleSince + (settings.oneShot && session.activityAt > (session.readyAt ?? 0) ? 0 : (settings.idleMs ?? graceMs));
      if (until > this.facts.now && !over()) {
        this.times.push(until);
        continue;
      }
      left--;
      const empty = emptyFor(session.everHeld ? [] : workLeft(session, this.facts));
      this.#add(session, { do: 'drain', pk: session.pk, reason: 'no-wake-reason', ms: settings.drainMs, ...empty });
    }
    this.#takeBack(agent, free);
  }

  /** Sessions that were to be started for work that is gone. */
  #takeBack(agent: PoolAgent, free: readonly PoolSession[]): void {
    const waiting = free.filter(
      ({ state, hasRunner, wake }) => !hasRunner && (state === 'start-pending' || state === 'asleep') && wake === 'work',
    );
    if (waiting.length === 0 || this.facts.scale.has(agent.name)) return;
    const need = (this.facts.offered.get(agent.name) ?? []).length;
    const coming = this.#workers(agent).filter((session) => this.#isComing(session)).length;
    for (const session of waiting.reverse().slice(0, Math.max(0, coming - need))) {
      if (session.agentName !== null && (this.facts.offered.get(session.agentName) ?? []).length > 0) continue;
      this.#add(session, { do: 'close', pk: session.pk, code: 'drained' });
    }
  }

  /** Those that take an agent's routed work: its pool, and every session of an agent that has only one. */
  #workers({ name, settings }: PoolAgent): PoolSession[] {
    return this.facts.sessions.filter(
      ({ agent, origin, identity }) => agent === name && identity === null && (origin === 'pool' || settings.max === 1),
    );
  }

  /** How many more of them may be started beside those that could not be: these keep their places, and all wait while their pool rests. */
  #seats(agent: PoolAgent, workers: readonly PoolSession[]): number {
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

  #isFree(session: PoolSession): boolean {
    return session.held.length === 0 && session.messages === 0 && this.#context(session).assigned.length === 0;
  }

  /** It is about to take work: being started for it, or in its first turns. */
  #isComing(session: PoolSession): boolean {
    if (session.held.length > 0 || session.stop !== null) return false;
    const { state, wake, messages, inTurn, activityAt, live } = session;
    if (state === 'start-pending' || state === 'creating' || (state === 'asleep' && wake !== null)) return true;
    if (state !== 'active') return false;
    return !live || messages > 0 || (inTurn && this.facts.now - activityAt < CLAIM_WITHIN_MS);
  }

  /** Its provider says "too much", and another session would be told the same. */
  #isLimited({ reason, notBefore }: PoolSession): boolean {
    return reason === 'rate_limit' && notBefore !== undefined && notBefore > this.facts.now;
  }

  #isIdle({ state, live, inTurn, stop, messages }: PoolSession): boolean {
    return state === 'active' && live && !inTurn && stop === null && messages === 0;
  }

  #offered({ blocked, settings }: PoolAgent, route: string): readonly OfferedBead[] {
    return blocked !== undefined || settings.max === 0 ? [] : (this.facts.offered.get(route) ?? []);
  }

  /** What is offered to an agent, or to a member of it, and not merely left over by sessions that did not want it. */
  #fresh(agent: PoolAgent, route: string): readonly OfferedBead[] {
    const offered = this.#offered(agent, route);
    const runs = this.facts.emptyRuns.get(route);
    const until = cooldownUntil(runs);
    if (runs === undefined || until <= this.facts.now) return offered;
    this.times.push(until);
    return offered.filter(({ at }) => at > runs.lastAt);
  }

  /** The last ones that were started without work of theirs have ended at once: the next is for a while no better, but for what came `since`. */
  #rests(agent: PoolAgent, since = -Infinity): boolean {
    const runs = this.facts.idleRuns.get(agent.name);
    const until = cooldownUntil(runs);
    if (runs === undefined || until <= this.facts.now || since > runs.lastAt) return false;
    this.times.push(until);
    return true;
  }

  /** Has a session take up work: wakes it, or tells it when it is idle. True when it is on its way to it. */
  #engage(session: PoolSession, beads: readonly string[], at: number | undefined): boolean {
    if (this.decided.has(session.pk)) return false;
    if (session.state === 'asleep') return this.#wake(session, 'work', beads, at);
    if (!this.#isIdle(session) || session.asks || beads.length === 0) return false;
    const { nudgedAt, nudgedFor } = session;
    const news = beads[0] !== nudgedFor;
    if (nudgedAt !== undefined && !news && this.facts.now - nudgedAt < NUDGE_AGAIN_MS) {
      this.times.push(nudgedAt + NUDGE_AGAIN_MS);
      return false;
    }
    this.#add(session, { do: 'nudge', pk: session.pk, beads: beads.slice(0, BEADS_NAMED) });
    return true;
  }

  #wake(session: PoolSession, why: WakeRequest, beads?: readonly string[], at = -Infinity): boolean {
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
    this.#add(session, { do: 'wake', pk: session.pk, why, ...(beads === undefined ? {} : { beads: beads.slice(0, BEADS_NAMED) }) });
    return true;
  }

  #create(agent: PoolAgent, slot: number | null, name: string, why: WakeRequest, { bead, at }: Work = {}): boolean {
    if (agent.blocked !== undefined || agent.settings.max === 0 || this.#names.has(name) || !agent.startable()) return false;
    if (this.#waits(agent, at) || !this.#capacity.take(agent, agent.rig)) return false;
    this.#names.add(name);
    this.#decisions.push({ do: 'create', agent: agent.name, slot, name, why, ...(bead === undefined ? {} : { bead }) });
    return true;
  }

  #materialize(identity: string, agent: string | undefined, why: WakeRequest, { bead, at }: Work = {}): void {
    const its = agent === undefined ? undefined : this.#agents.get(agent);
    if (its === undefined || its.blocked !== undefined || its.settings.max === 0 || !its.startable()) return;
    if (this.#waits(its, at) || !this.#capacity.take(its, its.rig)) return;
    this.#decisions.push({ do: 'materialize', identity, why, ...(bead === undefined ? {} : { bead }) });
  }

  /** The lowest that is free; null for an agent that has one session only. */
  #freeSlot(agent: PoolAgent): number | null {
    if (agent.settings.max === 1) return null;
    for (let slot = 1; ; slot++) if (!this.#names.has(agent.member(slot))) return slot;
  }

  #context(session: PoolSession): SessionContext {
    return this.contexts.get(session.pk)!;
  }

  #add(session: PoolSession, decision: PoolDecision): void {
    this.#decisions.push(decision);
    this.decided.add(session.pk);
  }
}

function isStarting(state: SessionState): boolean {
  return state === 'start-pending' || state === 'creating';
}

/** When the newest of them was changed last. */
function newestAt(beads: readonly OfferedBead[]): number {
  return Math.max(...beads.map(({ at }) => at));
}

/** Ids, the newest first: whether there is anything that a session has not been told of shows at once. */
function newest(beads: readonly OfferedBead[]): string[] {
  return [...beads].sort((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1)).map(({ id }) => id);
}
