import { hasOpenCircuit, openCircuit } from '../session-store/open-circuit.js';
import type { SessionRow } from '../session-store/session-row.js';
import type { QueueFacts } from './message-queue.repository.js';
import type { MessageIntent } from './message-row.js';

/** A queue that nobody empties does not grow for ever. */
export const QUEUE_LIMIT = 1000;
/** Nor in bytes of what its messages say. */
export const QUEUE_BYTES = 16 * 1024 * 1024;

/** A process answers and is going to stay. */
const present = (row: SessionRow): boolean => row.live && row.stop_request === null;

/**
 * What keeps a session from being started for a message, beyond a pause that passes by itself. `suspension` is why its
 * agent, rig or city is suspended, if it is.
 */
export function keptAsleep(row: SessionRow, suspension: string | undefined, now: Date): string | undefined {
  if (suspension !== undefined) return `session ${row.id} takes no messages: ${suspension}`;
  if (present(row)) return undefined;
  const until = (what: string, time: Date): string => `session ${row.id} is ${what} until ${time.toISOString()}; wake it first`;
  if (hasOpenCircuit(row, now)) return `session ${row.id} takes no messages: ${openCircuit(row)}`;
  if (row.quarantined_until !== null && row.quarantined_until > now) return until('quarantined', row.quarantined_until);
  if (row.held_until !== null && row.held_until > now) return until('on hold', row.held_until);
  if (row.state === 'quarantined') return `session ${row.id} is quarantined; wake it first`;
  return undefined;
}

/** Why the queue does not take another message with this text; undefined where it does. */
export function full(row: SessionRow, text: string, { waiting, bytes }: QueueFacts): string | undefined {
  if (waiting >= QUEUE_LIMIT) return `${QUEUE_LIMIT} messages wait for session ${row.id} already`;
  if (bytes + Buffer.byteLength(text) <= QUEUE_BYTES) return undefined;
  return `messages of ${bytes} bytes wait for session ${row.id} already, and with this one they would be more than ${QUEUE_BYTES}`;
}

/** Whether the session's process is known not to be able to do what the intent asks for now. */
export function unsupported(row: SessionRow, intent: MessageIntent, facts: QueueFacts): string | undefined {
  if (intent !== 'interrupt_now' || !present(row) || !facts.inTurn || row.capabilities.interrupt !== false) return undefined;
  return `the runtime of session ${row.id} cannot interrupt a turn`;
}

/**
 * Whether a submit has done its part with the message in the queue: a follow-up whose turn has to come, and whatever is
 * sent by default to a session that is still being made.
 */
export function endsQueued(row: SessionRow, intent: MessageIntent, facts: QueueFacts): boolean {
  const starting = !row.live && (row.state === 'start-pending' || row.state === 'creating');
  if (intent === 'default') return starting;
  return intent === 'follow_up' && present(row) && (facts.inTurn || facts.waiting > 0);
}
