import type { EmptyFor } from '../../sessions/session-store/empty-runs.js';
import type { SessionPatch, SessionRow } from '../../sessions/session-store/session-row.js';

/** What is noted of a session, without some of it. */
export function without(row: SessionRow, ...keys: string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(row.metadata).filter(([key]) => !keys.includes(key)));
}

/** The release before knows the first only, and takes each for one that left work of its pool. */
export function emptyRun(row: SessionRow, empty: readonly EmptyFor[] | undefined, now: number): Pick<SessionPatch, 'metadata'> {
  if (empty === undefined) return {};
  // Of one that has ended already; the close takes the reason away.
  const how: Record<string, string> = row.state === 'asleep' && row.reason !== null ? { empty_end: row.reason } : {};
  return { metadata: { ...row.metadata, empty_run: new Date(now).toISOString(), empty_for: empty.join(','), ...how } };
}

/** As if nothing had gone wrong yet: that was with another configuration. */
export const MENDED = {
  not_before: null,
  quarantined_until: null,
  circuit_until: null,
  crashes: [],
  restarts: [],
  churns: 0,
  failed_starts: 0,
  losses: null,
  failure: null,
  tried_hash: null,
} as const satisfies SessionPatch;
