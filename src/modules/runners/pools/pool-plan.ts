import { routesLeft, withIdleRun, type EndedRuns } from '../../sessions/session-store/empty-runs.js';
import { Dependencies } from './pool-dependencies.js';
import type { PoolDecision, PoolFacts, PoolNamed, PoolPlan, PoolSession } from './pool-facts.js';
import { Supply } from './pool-supply.js';
import { ruleOf, whileStopped, type SessionContext } from './session-rules.js';
import { StandingDemand } from './standing-demand.js';
import { WorkDemand } from './work-demand.js';

/**
 * What a city's sessions should do: a function of nothing but the facts. At most one decision a session, beside what is
 * only told. First what each session's own state and timers ask for, then what the demand asks of those that are left.
 */
export function poolPlan(facts: PoolFacts): PoolPlan {
  const decisions: PoolDecision[] = [];
  const times: number[] = [];
  const decided = new Set<number>();
  const add = (pk: number, decision: PoolDecision | undefined): void => {
    if (decision === undefined) return;
    decisions.push(decision);
    decided.add(pk);
  };
  const later = (at: number | undefined): void => {
    if (at !== undefined && at > facts.now) times.push(at);
  };
  if (facts.city !== 'running') {
    for (const session of facts.sessions) add(session.pk, whileStopped(session, facts.city).decision);
    return { decisions, nextAt: undefined };
  }
  const dependencies = new Dependencies(facts);
  const contexts = contextsOf(facts, dependencies);
  for (const session of facts.sessions) {
    const { decision, tell, at } = ruleOf(session, contexts.get(session.pk)!, facts);
    add(session.pk, decision);
    if (tell !== undefined) decisions.push(tell);
    later(at);
  }
  const shown = { ...facts, ...withEndedNow(facts, decisions) };
  const supply = new Supply(shown, contexts, decided, dependencies, leavingNow(facts, decisions));
  meetDemand(shown, supply, dependencies);
  for (const decision of supply.decisions) decisions.push(decision);
  for (const at of supply.times) later(at);
  if (facts.sessions.length > 0 || facts.scale.size > 0) times.push(facts.now + facts.settings.patrolMs);
  return { decisions: inOrder(decisions), nextAt: times.length === 0 ? undefined : Math.min(...times) };
}

/** Most urgent first: who comes later gets what is left of the limits. */
function meetDemand(facts: PoolFacts, supply: Supply, dependencies: Dependencies): void {
  const { agents, named } = facts;
  const work = new WorkDemand(facts, supply);
  const standing = new StandingDemand(facts, supply, dependencies);
  standing.resume();
  standing.always();
  work.assigned();
  for (const one of named) work.routedToNamed(one);
  for (const agent of agents) work.routed(agent);
  for (const agent of agents) standing.minimum(agent);
  for (const agent of agents) if (dependencies.isNeeded(agent.name)) standing.sustain(agent);
  for (const agent of agents) work.takeBack(agent, standing.shrink(agent));
  if (supply.cut) supply.times.push(facts.now + 1_000);
}

/** Who has no process any more and is closed by this very look: a member that takes the seat takes the name, too. */
function leavingNow({ sessions }: PoolFacts, decisions: readonly PoolDecision[]): Set<number> {
  const closed = new Set(decisions.flatMap((one) => (one.do === 'close' ? [one.pk] : [])));
  return new Set(sessions.flatMap(({ pk, hasRunner }) => (closed.has(pk) && !hasRunner ? [pk] : [])));
}

/** A run that this very look finds empty counts: what it has left would start the next one at once. What came meanwhile still does. What would be started from something else waits only where the one before it counts, too, and no longer than the first time. */
function withEndedNow(facts: PoolFacts, decisions: readonly PoolDecision[]): EndedRuns {
  const ended = new Map(decisions.flatMap((one) => (one.do === 'close' && one.empty !== undefined ? [[one.pk, one.empty]] : [])));
  if (ended.size === 0) return facts;
  const [emptyRuns, idleRuns] = [new Map(facts.emptyRuns), new Map(facts.idleRuns)];
  for (const { pk, agent, agentName, readyAt, stateAt, mended } of facts.sessions) {
    const empty = ended.get(pk);
    if (empty === undefined || agent === null) continue;
    for (const route of routesLeft({ template: agent, member: agentName, empty }).filter((one) => !mended || emptyRuns.has(one)))
      emptyRuns.set(route, { count: mended ? 1 : (emptyRuns.get(route)?.count ?? 0) + 1, lastAt: readyAt ?? stateAt });
    if (empty.includes('minimum') && (!mended || idleRuns.has(agent)))
      idleRuns.set(agent, withIdleRun(idleRuns.get(agent), agentName, { lastAt: stateAt }));
  }
  return { emptyRuns, idleRuns };
}

/** Rows by pk, as everybody locks them; what is made comes last. */
function inOrder(decisions: readonly PoolDecision[]): PoolDecision[] {
  const place = (decision: PoolDecision): number => ('pk' in decision ? decision.pk : Infinity);
  return decisions
    .map((decision, n) => ({ decision, n }))
    .sort((a, b) => (place(a.decision) === place(b.decision) ? a.n - b.n : place(a.decision) - place(b.decision)))
    .map(({ decision }) => decision);
}

function contextsOf(facts: PoolFacts, dependencies: Dependencies): Map<number, SessionContext> {
  const agents = new Map(facts.agents.map((agent) => [agent.name, agent]));
  const named = new Map(facts.named.map((one) => [one.identity, one]));
  return new Map(
    facts.sessions.map((session) => [session.pk, contextOf(session, { agents, named, assigned: facts.assigned, dependencies })]),
  );
}

function contextOf(
  session: PoolSession,
  by: {
    readonly agents: ReadonlyMap<string, SessionContext['agent']>;
    readonly named: ReadonlyMap<string, PoolNamed>;
    readonly assigned: PoolFacts['assigned'];
    readonly dependencies: Dependencies;
  },
): SessionContext {
  return {
    agent: session.agent === null ? undefined : by.agents.get(session.agent),
    named: session.identity === null ? undefined : by.named.get(session.identity),
    assigned: [...new Set(namesOf(session))].flatMap((name) => by.assigned.get(name) ?? []),
    needed: session.agent !== null && by.dependencies.isNeeded(session.agent),
  };
}

/**
 * The names under which work that is assigned to them is this session's and nobody else's: a manual session that shares its
 * agent's name with others has only its own.
 */
export function namesOf({ id, sessionName, alias, agentName, origin }: PoolSession): string[] {
  const own = [id, sessionName, alias];
  if (agentName !== null && origin !== 'manual') own.push(agentName);
  return own.filter((name) => name !== '');
}
