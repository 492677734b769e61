import type { OfferedBead, PoolAgent, PoolFacts, PoolNamed, PoolSession } from './pool-facts.js';
import { cooldownUntil, newestOf, type Supply, type Work } from './pool-supply.js';

/** What work asks of a city's sessions: what is assigned to a name, and what waits for an agent, a member or a named session. */
export class WorkDemand {
  readonly #named: ReadonlyMap<string, PoolNamed>;
  /** Routes to single members of pools, by agent, in their order. Each is asked for once: there may be thousands of agents. */
  readonly #memberRoutes = new Map<string, { readonly route: string; readonly slot: number }[]>();

  constructor(
    private readonly facts: PoolFacts,
    private readonly supply: Supply,
  ) {
    this.#named = new Map(facts.named.map((one) => [one.identity, one]));
    for (const route of facts.offered.keys())
      for (const { agent, slot } of this.#membersCalled(route)) {
        const routes = this.#memberRoutes.get(agent.name);
        if (routes === undefined) this.#memberRoutes.set(agent.name, [{ route, slot }]);
        else routes.push({ route, slot });
      }
  }

  /** Places in pools that a name stands for, in the order of agents. */
  *#membersCalled(name: string): Generator<{ readonly agent: PoolAgent; readonly slot: number }> {
    for (const pool of this.facts.poolsOf(name)) {
      const agent = this.supply.agents.get(pool);
      const slot = pool === name || agent?.settings.max === 1 ? undefined : agent?.slotOf(name);
      if (slot !== undefined) yield { agent: agent!, slot };
    }
  }

  /** Work that is assigned to a name. */
  assigned(): void {
    for (const [name, beads] of this.facts.assigned) {
      if (beads.length === 0) continue;
      const session = this.facts.sessions.find((one) => this.#bears(one, name) && !this.supply.isReplaced(one));
      if (session !== undefined) this.supply.engage(session, beads);
      else this.#bear(name, { bead: beads[0]!.id, at: newestAt(beads) });
    }
  }

  #bears(session: PoolSession, name: string): boolean {
    if (session.id === name || session.sessionName === name || session.alias === name) return true;
    if (session.agentName !== name) return false;
    return session.origin !== 'manual' || this.supply.agents.get(name)?.settings.max === 1;
  }

  /** Makes the session that a name stands for. */
  #bear(name: string, work: Work): void {
    const named = this.#named.get(name);
    if (named !== undefined) return this.supply.materialize(name, named.agent, 'work', work);
    const agent = this.supply.agents.get(name);
    if (agent !== undefined) {
      this.supply.create(agent, null, name, 'work', work);
      return;
    }
    const [member] = this.#membersCalled(name);
    if (member !== undefined) this.supply.create(member.agent, member.slot, member.agent.member(member.slot), 'work', work);
  }

  /** Beads that are routed to a named session. */
  routedToNamed({ identity, agent }: PoolNamed): void {
    const beads = this.facts.offered.get(identity) ?? [];
    if (beads.length === 0) return;
    const session = this.supply.bearer(identity);
    if (session !== undefined) this.supply.engage(session, beads);
    else this.supply.materialize(identity, agent, 'work', { bead: beads[0]!.id, at: newestAt(beads) });
  }

  /** Beads that wait for an agent's pool, and for single members of it. */
  routed(agent: PoolAgent): void {
    if (this.#named.has(agent.name)) return;
    for (const { route, slot } of this.#memberRoutes.get(agent.name) ?? []) {
      const beads = this.facts.offered.get(route)!;
      if (beads.length === 0) continue;
      const member = this.facts.sessions.find((one) => one.agentName === route && one.origin !== 'manual' && !this.supply.isLeaving(one));
      const fresh = member === undefined ? this.#fresh(agent, route) : [];
      if (member !== undefined) this.supply.engage(member, beads);
      else if (fresh.length > 0) this.supply.create(agent, slot, agent.member(slot), 'work', { bead: fresh[0]!.id, at: newestAt(fresh) });
    }
    const beads = this.#fresh(agent, agent.name);
    const all = this.#offered(agent, agent.name);
    const cooling = cooldownUntil(this.facts.emptyRuns.get(agent.name)) > this.facts.now;
    const scale = cooling ? 0 : (this.facts.scale.get(agent.name) ?? 0);
    let need = Math.max(all.length, scale);
    if (need === 0) return;
    const workers = this.supply.workers(agent);
    const at = newestAt(beads);
    // Each of them sees what another one writes about work that it leaves: that is no news. What one had and gives back is.
    const since = Math.max(...workers.filter(({ live, held }) => live && held.length === 0).map(({ activityAt }) => activityAt));
    // What others have left is for those that are there: nobody is started for it.
    const left = need - Math.max(beads.length, scale);
    for (const session of workers) if (this.supply.isComing(session)) need--;
    for (const session of workers) {
      if (need <= 0 || !this.supply.isIdle(session) || !this.supply.isFree(session) || session.asks) continue;
      // Also one that has been told and took nothing: before it has gone, another one would do no better.
      need--;
      this.supply.engage(session, all, since);
    }
    need -= left;
    if (workers.some((session) => this.supply.isLimited(session))) return;
    if (agent.settings.max === 1 && workers.length > 0) {
      // Nobody else takes its work: the one that sleeps is woken.
      if (need > 0) workers.some((session) => session.state === 'asleep' && this.supply.engage(session, beads, since));
      return;
    }
    for (let n = Math.min(need, this.supply.seats(agent, workers)); n > 0; n--) {
      const slot = this.supply.freeSlot(agent);
      const name = slot === null ? agent.name : agent.member(slot);
      const bead = need === 1 && beads.length === 1 ? beads[0]!.id : undefined;
      if (!this.supply.create(agent, slot, name, 'work', { bead, at })) return;
    }
  }

  /** Sessions that were to be started for work that is gone. */
  takeBack(agent: PoolAgent, free: readonly PoolSession[]): void {
    const waiting = free.filter(
      ({ state, hasRunner, wake }) => !hasRunner && (state === 'start-pending' || state === 'asleep') && wake === 'work',
    );
    if (waiting.length === 0 || this.facts.scale.has(agent.name)) return;
    const need = (this.facts.offered.get(agent.name) ?? []).length;
    const coming = this.supply.workers(agent).filter((session) => this.supply.isComing(session)).length;
    for (const session of waiting.reverse().slice(0, Math.max(0, coming - need))) {
      if (session.agentName !== null && (this.facts.offered.get(session.agentName) ?? []).length > 0) continue;
      this.supply.add(session, { do: 'close', pk: session.pk, code: 'drained' });
    }
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
    this.supply.times.push(until);
    return offered.filter(({ at }) => at > runs.lastAt);
  }
}

/** When the newest of them was changed last. */
function newestAt(beads: readonly OfferedBead[]): number {
  return newestOf(beads)?.at ?? -Infinity;
}
