import type { SessionRow } from './session-row.js';

type Circuit = Pick<SessionRow, 'circuit_until' | 'restarts'>;

/** A breaker keeps the session from being started. */
export function hasOpenCircuit({ circuit_until: until }: Circuit, now: Date): boolean {
  return until !== null && until > now;
}

/** Why, and what a person can do about it. */
export function openCircuit({ circuit_until: until, restarts }: Circuit): string {
  const times = `its process has ended ${restarts.length} times without a finished turn`;
  return `circuit-open until ${until?.toISOString() ?? ''}: ${times}; reset it, or wake it with force`;
}
