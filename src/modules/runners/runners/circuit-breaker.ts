import type { BreakerSettings } from '../../sessions/session-store/settings.js';
import type { SessionRow } from '../../sessions/session-store/session-row.js';
import type { Decision } from './after-exit.js';

/** How a process ended, as far as the breaker has to know. */
export interface BreakerFacts {
  /** It ended by itself, or stood still, or could not be started, and had not finished a turn. */
  readonly fruitless: boolean;
  /** By the database's clock. */
  readonly now: Date;
}

/**
 * The circuit breaker of configured named sessions, which are wanted again whatever happened to them: one that was started
 * again `maxRestarts` times within the window and finished no turn is quarantined for as long as its circuit is open. What
 * others have caused, and what stays down anyway, does not count; a finished turn makes the count begin anew.
 */
export function withBreaker(row: SessionRow, decision: Decision, facts: BreakerFacts, settings: BreakerSettings | undefined): Decision {
  if (settings === undefined || row.named_identity === null || !facts.fruitless) return decision;
  if (decision.to !== 'quarantined' && (decision.to !== 'asleep' || decision.reason === 'provider-terminal-error')) return decision;
  const since = Math.max(facts.now.getTime() - settings.windowMs, row.circuit_until?.getTime() ?? 0);
  const restarts = [...row.restarts.filter((at) => at.getTime() > since), facts.now];
  if (restarts.length <= settings.maxRestarts) return { ...decision, set: { ...decision.set, restarts } };
  const until = new Date(facts.now.getTime() + settings.resetMs);
  return {
    to: 'quarantined',
    reason: 'circuit-open',
    set: { ...decision.set, restarts, circuit_until: until, quarantined_until: until },
    message: `circuit-open until ${until.toISOString()}: started again ${settings.maxRestarts} times without finishing a turn`,
  };
}
