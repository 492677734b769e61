import { NOW, type SessionPatch, type SessionRow } from './session-row.js';
import type { StopRequest } from './session-states.js';

/** The stronger a wish to stop, the later. */
const STRENGTH: readonly StopRequest[] = ['handover', 'sleep', 'drain', 'kill', 'reset', 'suspend', 'close'];

/**
 * The columns that ask a session's runner to stop it; undefined when it is asked for as much or more already.
 *
 * @example const wish = stopWish(row, 'drain', { reason: 'config-drift', deadline }); if (wish) row = await changes.patch(row, wish);
 */
export function stopWish(
  row: Pick<SessionRow, 'stop_request'>,
  request: StopRequest,
  { reason, deadline = null, now = NOW }: { reason: string; deadline?: Date | null; now?: Date | typeof NOW },
): SessionPatch | undefined {
  if (row.stop_request !== null && STRENGTH.indexOf(row.stop_request) >= STRENGTH.indexOf(request)) return undefined;
  return { stop_request: request, stop_reason: reason, stop_requested_at: now, stop_deadline: deadline };
}

/** In the metadata of a session that has asked for its own end, and when. */
export const DRAINED_ITSELF = 'drained_itself';

/** Nobody asks its runner for anything. */
export const UNASKED = {
  stop_request: null,
  stop_reason: null,
  stop_requested_at: null,
  stop_deadline: null,
} as const satisfies SessionPatch;

/** No runner has it. */
export const GIVEN_UP = {
  ...UNASKED,
  runner_id: null,
  live: false,
  instance_token: null,
  token_hash: null,
  start_deadline: null,
} as const satisfies SessionPatch;

/** Its process stays: what was to start it again after its end would start it after another one, which is to be the last. */
export const STAYS = { ...UNASKED, wake_request: null, wake_requested_at: null } as const satisfies SessionPatch;
