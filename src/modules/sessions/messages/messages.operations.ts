import { z } from 'zod';
import { SessionMessageSucceeded, SessionSubmitSucceeded } from '../../../contract/events/sessions.events.js';
import { defineOperation } from '../../../platform/operations/operation.js';
import { INTENTS } from './message-row.js';

const DAY_MS = 24 * 60 * 60 * 1000;

export const MessageInput = z.strictObject({ session_id: z.string(), message_id: z.string(), intent: z.enum(INTENTS) });

/** Ends with the delivery. After its time it has failed, although the message waits on: the client may cancel that. */
export const SessionMessage = defineOperation({
  kind: 'session.message',
  input: MessageInput,
  succeeded: SessionMessageSucceeded,
  deadlineMs: 4 * 60 * 1000,
  overdue: 'the message may still be delivered; as long as it waits it can be cancelled',
  maxAttempts: 1,
  external: true,
});

/** Ends with the delivery, or at once where the message only has to wait. The queue gives up first, after 24 hours. */
export const SessionSubmit = defineOperation({
  kind: 'session.submit',
  input: MessageInput,
  succeeded: SessionSubmitSucceeded,
  deadlineMs: DAY_MS + 15 * 60 * 1000,
  maxAttempts: 1,
  external: true,
});
