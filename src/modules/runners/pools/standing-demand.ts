import type { Dependencies } from './pool-dependencies.js';
import type { PoolAgent, PoolFacts, PoolSession } from './pool-facts.js';
import { cooldownUntil, type Supply } from './pool-supply.js';
import { emptyFor, workLeft } from './session-rules.js';

/** What is to be there whether work waits or not: sessions that go on, names that are always borne, minimums, what others depend on; and no more. */
export class StandingDemand {
  constructor(
    private readonly facts: PoolFacts,
    private readonly supply: Supply,
    private readonly dependencies: Dependencies,
  ) {}

  /** Those that hold work or messages, are pinned, or were stopped with their city. */
  resume(): void {
    for (const session of this.facts.sessions) {
      if (session.state !== 'asleep') continue;
      const { held, reason, origin, waits } = session;
      const killed = origin === 'manual' && reason === 'killed';
      if (session.messages > 0) this.supply.wake(session, 'message');
      else if (held.length > 0 && !waits && !killed) this.supply.wake(session, 'work', held);
      else if (reason === 'city-stop' && origin !== 'pool') this.supply.wake(session, 'restart');
      else if (session.pinned) this.supply.wake(session, 'pinned');
      else if (reason === 'config-drift') this.supply.wake(session, 'drift');
    }
  }

  always(): void {
    for (const { identity, mode, agent } of this.facts.named) {
      if (mode !== 'always') continue;
      const session = this.supply.bearer(identity);
      if (session !== undefined) this.supply.wake(session, 'named');
      else this.supply.materialize(identity, agent, 'named');
    }
  }

  minimum(agent: PoolAgent): void {
    const { min, max } = agent.settings;
    if (agent.blocked !== undefined || max === 0) return;
    const workers = this.supply.workers(agent);
    let missing = Math.min(min - this.supply.sessionsOf(agent.name), this.supply.seats(agent, workers));
    for (const session of workers) if (missing > 0 && session.state === 'asleep' && this.supply.wake(session, 'minimum')) missing--;
    if (missing > 0 && this.#rests(agent)) return;
    for (; missing > 0; missing--) {
      const slot = this.supply.freeSlot(agent);
      if (!this.supply.create(agent, slot, slot === null ? agent.name : agent.member(slot), 'minimum')) return;
    }
  }

  /** Sees to it that one session runs of an agent that others depend on. */
  sustain(agent: PoolAgent): void {
    const its = this.facts.sessions.filter((session) => session.agent === agent.name);
    if (its.some((session) => session.state === 'active' || this.supply.isComing(session))) return;
    if (its.some(({ state }) => state === 'failed-create') && this.supply.seats(agent, this.supply.workers(agent)) <= 0) return;
    const named = this.facts.named.find((one) => one.agent === agent.name);
    const asleep = this.supply.workers(agent).concat(its.filter(({ identity }) => identity !== null && identity === named?.identity));
    const at = this.dependencies.neededSince(agent.name);
    if (asleep.some((session) => this.supply.wake(session, 'dependency', undefined, at))) return;
    if (named !== undefined) {
      if (its.every(({ identity }) => identity !== named.identity))
        this.supply.materialize(named.identity, agent.name, 'dependency', { at });
      return;
    }
    if ((agent.settings.max === 1 && asleep.length > 0) || this.#rests(agent, at)) return;
    const slot = this.supply.freeSlot(agent);
    this.supply.create(agent, slot, slot === null ? agent.name : agent.member(slot), 'dependency', { at });
  }

  /** Drains what has nothing to do, the longest idle first. What is left of those that are free; none where all of them are kept. */
  shrink(agent: PoolAgent): readonly PoolSession[] {
    const { settings } = agent;
    const keep = Math.max(this.dependencies.isNeeded(agent.name) ? 1 : 0, Math.min(settings.min, settings.max ?? Infinity));
    let left = this.supply.sessionsOf(agent.name);
    const over = (): boolean => settings.max !== undefined && left > settings.max;
    const { graceMs } = this.facts.settings;
    const free = this.supply
      .workers(agent)
      .filter((session) => session.origin === 'pool' && !this.supply.isDecided(session) && this.supply.isFree(session))
      .sort((a, b) => a.activityAt - b.activityAt);
    for (const session of free) {
      if (left <= keep) return [];
      if (!this.supply.isIdle(session) || session.asks || session.pinned) continue;
      const idleSince = Math.max(session.activityAt, session.readyAt ?? 0);
      const until = idleSince + (settings.oneShot && session.activityAt > (session.readyAt ?? 0) ? 0 : (settings.idleMs ?? graceMs));
      if (until > this.facts.now && !over()) {
        this.supply.times.push(until);
        continue;
      }
      left--;
      const empty = emptyFor(session.everHeld ? [] : workLeft(session, this.facts));
      this.supply.add(session, { do: 'drain', pk: session.pk, reason: 'no-wake-reason', ms: settings.drainMs, ...empty });
    }
    return free;
  }

  /** The last ones that were started without work of theirs have ended at once: the next is for a while no better, but for what came `since`. */
  #rests(agent: PoolAgent, since = -Infinity): boolean {
    const runs = this.facts.idleRuns.get(agent.name);
    const until = cooldownUntil(runs);
    if (runs === undefined || until <= this.facts.now || since > runs.lastAt) return false;
    this.supply.times.push(until);
    return true;
  }
}
