import { poolPlan } from '../pool-plan.js';
import { endedRunsOf, type EmptyFor, type EndedRun } from '../../../sessions/session-store/empty-runs.js';
import type { OfferedBead, PoolAgent, PoolDecision, PoolSession } from '../pool-facts.js';
import { endedByItself } from '../../../sessions/session-store/session-rest.js';
import { agentOf, factsWith, NOW, sessionOf } from './facts.js';

export interface Behaviour {
  /** What a session does in a turn: takes a bead and finishes it, takes one and leaves it, takes none, or writes why on each of them. */
  readonly turn: 'finish' | 'keep' | 'ignore' | 'notes';
  /** Its process ends after each turn. */
  readonly exits?: boolean;
  /** How, when it does: as one that has done its turn, unless this says otherwise. */
  readonly reason?: string;
}

/** A city in memory with a clock of its own: decisions are carried out at once, and sessions behave as they are told. */
export class PoolWorld {
  now = NOW;
  readonly counts: Partial<Record<PoolDecision['do'], number>> = {};
  sessions: PoolSession[] = [];
  beads: OfferedBead[] = [];
  /** What is routed to single members. */
  readonly routed = new Map<string, OfferedBead[]>();
  agents: PoolAgent[] = [agentOf('worker')];
  /** What was decided for a session that held work, and should not have been. */
  readonly wrongs: PoolDecision[] = [];
  #runs: EndedRun[] = [];
  #pk = 0;
  readonly #drained = new Map<number, readonly EmptyFor[] | undefined>();
  readonly #turns = new Map<number, number>();

  constructor(readonly behaviour: Behaviour) {}

  /** One pass, then everybody who was prompted has a turn. Returns what was decided. */
  step(ms: number): readonly PoolDecision[] {
    this.now += ms;
    const { decisions } = poolPlan(
      factsWith({
        now: this.now,
        agents: this.agents,
        sessions: this.sessions,
        offered: new Map([...this.routed, ['worker', this.beads]]),
        ...endedRunsOf(this.#runs.filter(({ at }) => this.now - at < 3_600_000)),
      }),
    );
    for (const decision of decisions) {
      this.counts[decision.do] = (this.counts[decision.do] ?? 0) + 1;
      this.#apply(decision);
    }
    this.#act();
    return decisions;
  }

  #ended({ agent, agentName }: PoolSession, empty: readonly EmptyFor[] | undefined): void {
    this.#runs = [{ template: agent!, member: agentName, empty, at: this.now }, ...this.#runs];
  }

  #apply(decision: PoolDecision): void {
    if (decision.do === 'create') {
      const { agent, slot, name: agentName, why: wake } = decision;
      const made = sessionOf({ pk: ++this.#pk, agent, slot, agentName, state: 'start-pending', wake });
      this.sessions.push({ ...made, stateAt: this.now, readyAt: undefined });
      return;
    }
    if (!('pk' in decision)) return;
    const session = this.#of(decision.pk);
    if (session.held.length > 0 && (decision.do === 'sleep' || decision.do === 'close')) this.wrongs.push(decision);
    switch (decision.do) {
      case 'wake':
        this.#set(session, {
          wake: decision.why,
          churns: endedByItself(session.reason) ? session.churns + 1 : session.churns,
          messages: decision.beads === undefined ? 0 : 1,
          ...this.#told(session, decision.beads),
        });
        return;
      case 'nudge':
        this.#set(session, { messages: 1, ...this.#told(session, decision.beads) });
        return;
      case 'drain':
      case 'sleep':
      case 'kill':
        if (decision.do === 'drain') this.#drained.set(session.pk, decision.empty);
        this.#set(session, { ...GONE, stateAt: this.now, reason: decision.reason });
        return;
      case 'close':
        this.#ended(session, decision.empty ?? this.#drained.get(session.pk));
        this.sessions = this.sessions.filter(({ pk }) => pk !== session.pk);
        return;
      default:
        return;
    }
  }

  #told(session: PoolSession, beads: readonly string[] = []): Pick<PoolSession, 'nudges' | 'nudged'> {
    const { nudges, nudged } = session;
    const [first] = beads;
    if (first === undefined) return { nudges, nudged };
    return { nudges: { ...nudges, [first]: this.now }, nudged: { ...nudged, [first]: Math.min(8, (nudged[first] ?? 0) + 1) } };
  }

  #act(): void {
    for (const session of this.sessions) {
      const starting = session.wake !== null && !session.hasRunner && (session.state === 'start-pending' || session.state === 'asleep');
      if (!starting && session.messages === 0) continue;
      const ready = { state: 'active', hasRunner: true, live: true, wake: null, reason: null } as const;
      if (starting) this.#set(session, { ...ready, readyAt: this.now, stateAt: this.now, generation: session.generation + 1 });
      this.#turn(this.#of(session.pk));
    }
  }

  #turn(session: PoolSession): void {
    const turns = (this.#turns.get(session.pk) ?? 0) + 1;
    this.#turns.set(session.pk, turns);
    let { held, everHeld } = session;
    if ((this.behaviour.turn === 'finish' || this.behaviour.turn === 'keep') && held.length === 0) {
      const its = this.routed.get(session.agentName ?? '') ?? [];
      const [bead] = its.length > 0 || session.agent !== 'worker' ? its.splice(0, 1) : this.beads.splice(0, 1);
      if (bead !== undefined) [held, everHeld] = [[bead.id], true];
    }
    if (this.behaviour.turn === 'finish') held = [];
    // A moment after its turn has ended: others see it as soon as it does.
    if (this.behaviour.turn === 'notes') this.beads = this.beads.map(({ id }) => ({ id, at: this.now + 1 }));
    this.#set(session, { held, everHeld, messages: 0, activityAt: this.now });
    if (this.behaviour.exits === true)
      this.#set(this.#of(session.pk), { ...GONE, stateAt: this.now, reason: this.behaviour.reason ?? 'exited' });
  }

  #of(pk: number): PoolSession {
    return this.sessions.find((one) => one.pk === pk)!;
  }

  #set(session: PoolSession, change: Partial<PoolSession>): void {
    this.sessions = this.sessions.map((one) => (one.pk === session.pk ? { ...one, ...change } : one));
  }
}

const GONE = { state: 'asleep', hasRunner: false, live: false, stop: null, wake: null } as const;
