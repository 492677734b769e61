import type { SessionRow } from '../../../sessions/session-store/session-row.js';

export const NOW = new Date('2030-01-01T00:00:00Z');

/** A session that runs, as far as its end looks at it. */
export const running = (over: Partial<SessionRow> = {}): SessionRow =>
  ({
    id: 'gc-1',
    generation: 1,
    state: 'active',
    stop_request: null,
    stop_reason: null,
    wake_request: null,
    failed_starts: 0,
    crashes: [],
    losses: null,
    ready_at: NOW,
    ...over,
  }) as SessionRow;
