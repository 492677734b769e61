import { DRIFT_REASON, driftStep, type DriftFacts } from '../../sessions/launch/drift.js';
import type { EmptyFor } from '../../sessions/session-store/empty-runs.js';
import { endedByItself, endsOnlyByHand, FAILED_KEPT_MS, PRODUCTIVE_MS } from '../../sessions/session-store/session-rest.js';
import { isAsked } from '../../sessions/session-store/session-states.js';
import type { OfferedBead, PoolAgent, PoolDecision, PoolFacts, PoolNamed, PoolSession } from './pool-facts.js';
import { share, type AgentSettings } from '../../sessions/session-store/settings.js';
import { timerDecision, type Blocker } from './timer-decision.js';

/** What one session should do whatever the demand is. `at` is when to look again at the latest. */
export interface SessionRule {
  readonly decision?: PoolDecision | undefined;
  readonly tell?: PoolDecision | undefined;
  readonly at?: number | undefined;
}

/** What a session is made of, as far as the configuration still has it. */
export interface SessionContext {
  readonly agent: PoolAgent | undefined;
  readonly named: PoolNamed | undefined;
  /** Work that is assigned to the session by name. */
  readonly assigned: readonly OfferedBead[];
  /** Agents that depend on its agent run or are about to. */
  readonly needed: boolean;
}

const RESET_STALLED_MS = 120_000;
/** A drain for these goes on whatever comes up. Somebody has asked for one that is `drained`: only a wake takes that back. */
const FIRM = new Set(['orphaned', 'reconfigured', 'suspended', 'drained']);
/** Ends that a process has come to by itself, and by which a member of a pool has nothing more to do. */
const ENDED_ALONE = new Set(['exited', 'crashed', 'auth-required', 'provider-terminal-error']);
/** A drain for these ends when work comes up. */
const SOFT = new Set(['no-wake-reason', 'idle', 'idle-timeout']);

/** Why nothing is configured any more that it is the session of: that is gone, or its name stands for another agent. */
function orphanedBy(session: PoolSession, { agent, named }: SessionContext): 'orphaned' | 'reconfigured' | undefined {
  if (session.agent === null) return undefined;
  if (named?.agent !== undefined && named.agent !== session.agent) return 'reconfigured';
  return agent === undefined || (session.identity !== null && named === undefined) ? 'orphaned' : undefined;
}

export function isOrphaned(session: PoolSession, context: SessionContext): boolean {
  return orphanedBy(session, context) !== undefined;
}

export function blockerOf(session: PoolSession, { agent }: SessionContext, facts: PoolFacts): string | undefined {
  return session.agent === null ? facts.blocked(session.rig) : agent?.blocked;
}

export function settingsOf({ agent, named }: SessionContext): AgentSettings | undefined {
  return named?.settings ?? agent?.settings;
}

/** Of a city that does not run: everything stops, or ends when the city is gone. */
export function whileStopped(session: PoolSession, city: 'stopped' | 'gone'): SessionRule {
  const { pk, stop, hasRunner } = session;
  if (city === 'gone') return stop === 'close' ? {} : { decision: { do: 'close', pk, code: 'city-gone' } };
  if (!hasRunner || (stop !== null && stop !== 'drain' && stop !== 'handover')) return {};
  // A drain may take minutes, which a city that stops has not.
  return { decision: stop === 'drain' ? { do: 'kill', pk, reason: 'city-stop' } : { do: 'sleep', pk, reason: 'city-stop' } };
}

export function ruleOf(session: PoolSession, context: SessionContext, facts: PoolFacts): SessionRule {
  const tell = tellings(session, context, facts);
  return { ...(session.hasRunner ? withProcess(session, context, facts) : withoutProcess(session, context, facts)), tell };
}

function tellings(session: PoolSession, context: SessionContext, facts: PoolFacts): PoolDecision | undefined {
  const { pk, held, state, stop, stopAt, hasRunner } = session;
  if (stop === 'reset' && hasRunner && stopAt !== undefined && facts.now - stopAt >= RESET_STALLED_MS && !session.toldResetStalled)
    return { do: 'tell', pk, what: 'reset-stalled' };
  const cannot =
    !hasRunner &&
    (state === 'suspended' ||
      state === 'failed-create' ||
      state === 'archived' ||
      blockerOf(session, context, facts) !== undefined ||
      isOrphaned(session, context));
  const stranded = held.length > 0 && cannot;
  if (stranded !== session.toldStranded) return { do: 'tell', pk, what: stranded ? 'stranded' : 'found' };
  return undefined;
}

function withProcess(session: PoolSession, context: SessionContext, facts: PoolFacts): SessionRule {
  const { pk, state, stop, startDeadline } = session;
  const { now } = facts;
  if (stop === null && state === 'creating' && session.runnerGone && startDeadline !== undefined && startDeadline <= now)
    return { decision: { do: 'lost-start', pk } };
  const drainMs = settingsOf(context)?.drainMs ?? 300_000;
  const orphaned = orphanedBy(session, context);
  const blocked = blockerOf(session, context, facts);
  if (stop !== null)
    return stop === 'drain' && isOver(session, context, { orphaned: orphaned !== undefined, blocked })
      ? { decision: { do: 'undrain', pk } }
      : {};
  if (orphaned !== undefined) return { decision: { do: 'drain', pk, reason: orphaned, ms: drainMs } };
  if (blocked !== undefined) return { decision: { do: 'drain', pk, reason: 'suspended', ms: drainMs } };
  // Kept, it would start it once more after its end. What else of it is due comes with the next look.
  if (isAsked(session.wake) && (state === 'active' || state === 'creating')) return { decision: { do: 'granted', pk }, at: now + 1_000 };
  if (state !== 'active' || !session.live) return startDeadline === undefined ? {} : { at: startDeadline };
  if (session.drifted && driftStep(driftFacts(session, facts)) === 'restart_now')
    return { decision: { do: 'drain', pk, reason: DRIFT_REASON, ms: facts.settings.driftDrainMs, wake: 'drift' } };
  return timers(session, context, facts);
}

/** Of one that is configured and may run. */
function driftFacts({ stop, stopReason, inTurn, asks }: PoolSession, { settings }: PoolFacts): DriftFacts {
  return { accepted: false, stop, stopReason, orphaned: false, blocked: false, inTurn, asks, restarts: settings.restartOnDrift };
}

/** Whether what a drain was for has passed, or something more important has come up. */
function isOver(session: PoolSession, context: SessionContext, now: { orphaned: boolean; blocked: string | undefined }): boolean {
  if (session.state !== 'draining' || !session.live) return false;
  const reason = session.stopReason ?? '';
  if (reason === 'orphaned' || reason === 'reconfigured') return !now.orphaned;
  if (reason === 'suspended') return now.blocked === undefined && !now.orphaned;
  if (session.asks && !FIRM.has(reason)) return true;
  return SOFT.has(reason) && (session.held.length > 0 || session.messages > 0 || session.pinned || context.assigned.length > 0);
}

function timers(session: PoolSession, context: SessionContext, facts: PoolFacts): SessionRule {
  const { pk, origin } = session;
  const settings = settingsOf(context);
  const jitter = settings === undefined ? 0 : settings.maxAgeJitterMs * share(`${session.id}.${session.generation}`);
  const blockers = new Set<Blocker>();
  if (session.asks) blockers.add('interaction');
  if (session.held.length > 0 || context.assigned.length > 0) blockers.add('work');
  if (session.messages > 0) blockers.add('messages');
  if (session.pinned) blockers.add('pin');
  if (context.needed) blockers.add('dependents');
  const decided = timerDecision({
    now: facts.now,
    running: true,
    inTurn: session.inTurn,
    activityAt: Math.max(session.activityAt, session.readyAt ?? 0),
    outputAt: session.outputAt,
    readyAt: session.readyAt ?? session.stateAt,
    blockers,
    // A pool's members are drained when nothing is left for them, which the demand decides.
    idleMs: origin === 'pool' ? undefined : session.agent === null ? facts.providerIdleMs : settings?.idleMs,
    maxAgeMs: settings?.maxAgeMs === undefined ? undefined : settings.maxAgeMs + jitter,
    deferMs: settings === undefined || settings.deferLimit === 0 ? undefined : settings.deferLimit * facts.settings.patrolMs,
    stallMs: facts.settings.stallMs,
    holderStallMs: facts.settings.holderStallMs,
  });
  switch (decided.act) {
    case 'kill':
      return { decision: { do: 'kill', pk, reason: decided.reason } };
    case 'drain':
      return { decision: { do: 'drain', pk, reason: decided.reason, ms: settings?.drainMs ?? 300_000 } };
    case 'sleep':
      return { decision: { do: 'sleep', pk, reason: decided.reason } };
    case 'none':
      return { at: decided.at };
  }
}

/** One that could not be started is tried once more, now and then, while something waits for it; a pool's makes room otherwise. */
function afterFailure(session: PoolSession, context: SessionContext, facts: PoolFacts): SessionRule {
  const { pk, origin, identity } = session;
  const waits = session.held.length > 0 || context.assigned.length > 0 || session.messages > 0;
  const named = identity !== null && (context.named?.mode === 'always' || (facts.offered.get(identity) ?? []).length > 0);
  if (origin !== 'pool' && ((!waits && !named) || (session.reason === 'auth-required' && !session.mended))) return {};
  if ((waits || named) && blockerOf(session, context, facts) !== undefined) return {};
  const until = session.stateAt + FAILED_KEPT_MS;
  if (until > facts.now && !session.mended) return { at: until };
  if (waits || named) return { decision: { do: session.mended ? 'mended' : 'retry', pk } };
  return { decision: { do: 'close', pk, code: 'failed-create' } };
}

/** It waits for its time after something has gone wrong, or for a person. */
function restsAsleep({ state, reason, notBefore, churns }: PoolSession, now: number): boolean {
  if (state !== 'asleep' && state !== 'start-pending') return false;
  return endsOnlyByHand(reason) || (notBefore !== undefined && notBefore > now) || (churns > 0 && endedByItself(reason));
}

function withoutProcess(session: PoolSession, context: SessionContext, facts: PoolFacts): SessionRule {
  const { pk, origin, state, quarantinedUntil } = session;
  const { now } = facts;
  if (state === 'archived') return {};
  const orphaned = orphanedBy(session, context);
  // One that somebody has parked would be followed by one that runs.
  if (orphaned === 'reconfigured' && state === 'suspended') return {};
  if (orphaned !== undefined) return origin === 'manual' ? {} : { decision: { do: 'close', pk, code: orphaned } };
  if (state === 'quarantined') {
    const off = session.reason === 'circuit-open' && !facts.settings.circuitBreaker;
    if (session.mended) return { decision: { do: 'mended', pk } };
    if (off || quarantinedUntil === undefined || quarantinedUntil <= now) return { decision: { do: 'unquarantine', pk } };
    return { at: quarantinedUntil };
  }
  if (state === 'failed-create') return afterFailure(session, context, facts);
  if (session.mended && restsAsleep(session, facts.now)) return { decision: { do: 'mended', pk } };
  if (origin !== 'pool' || session.held.length > 0 || context.assigned.length > 0 || session.messages > 0) return {};
  if (blockerOf(session, context, facts) !== undefined && (state === 'asleep' || state === 'start-pending'))
    return { decision: { do: 'close', pk, code: 'suspended' } };
  if (state !== 'asleep' || session.wake !== null || session.pinned) return {};
  // While the provider says "too much", another one in its place would be told the same.
  if (session.reason === 'rate_limit' && session.notBefore !== undefined && session.notBefore > now) return { at: session.notBefore };
  return { decision: { do: 'close', pk, code: 'drained', ...emptyFor(tookNothing(session, facts)) } };
}

/** For what a process that has ended by itself has taken no work: the next one would do no better. */
function tookNothing(session: PoolSession, facts: PoolFacts): EmptyFor[] {
  const { reason, everHeld, stateAt, readyAt, drainedItself } = session;
  if (everHeld || !(ENDED_ALONE.has(reason ?? '') || (reason === 'drained' && drainedItself))) return [];
  // Whether there was work or not: what has run for a while may have been good for something else.
  const soon = stateAt - (readyAt ?? stateAt) < PRODUCTIVE_MS;
  // One that has gone wrong later on says nothing about the others of its pool.
  const left = workLeft(session, facts).filter((one) => one !== 'pool' || soon || reason === 'exited');
  return [...left, ...(soon && isKept(session, facts) ? (['minimum'] as const) : [])];
}

/** Whose work waits that the session could take. */
export function workLeft({ agent, agentName }: PoolSession, { offered, scale }: PoolFacts): EmptyFor[] {
  const left: EmptyFor[] = [];
  if (agent === null) return left;
  if ((offered.get(agent) ?? []).length > 0 || (scale.get(agent) ?? 0) > 0) left.push('pool');
  if (agentName !== null && (offered.get(agentName) ?? []).length > 0) left.push('member');
  return left;
}

/** Its agent may be started without any work. */
function isKept({ agent }: PoolSession, { agents }: PoolFacts): boolean {
  return agents.some(({ name, settings, needs }) => (name === agent && settings.min > 0) || needs.includes(agent ?? ''));
}

export function emptyFor(empty: readonly EmptyFor[]): { readonly empty?: readonly EmptyFor[] } {
  return empty.length === 0 ? {} : { empty };
}
