import { z } from 'zod';
import { SessionCreateSucceeded } from '../../../contract/events/sessions.events.js';
import { defineOperation } from '../../../platform/operations/operation.js';

/** Five starts of a slow agent with their pauses, and the first answer to a message. */
const DEADLINE_MS = 10 * 60_000;

export const SessionCreateInput = z.object({ sessionId: z.string(), streamId: z.int(), message: z.boolean() });
export type SessionCreateInput = z.infer<typeof SessionCreateInput>;

/**
 * Accepted on the stream of its city with `createTarget`. It succeeds with the transaction that makes the session active, or,
 * where it was given a message, with the one that finds that message delivered.
 */
export const SessionCreate = defineOperation({
  kind: 'session.create',
  input: SessionCreateInput,
  succeeded: SessionCreateSucceeded,
  deadlineMs: DEADLINE_MS,
  maxAttempts: 1,
  external: true,
});

export function createTarget(sessionId: string): string {
  return `session/${sessionId}/create`;
}
