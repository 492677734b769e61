import { z } from 'zod';
import { MailBroadcastSucceeded } from '../../../contract/events/mail.events.js';
import { defineOperation } from '../../../platform/operations/operation.js';

export const MailBroadcastInput = z.object({ streamId: z.int(), requestId: z.string() });
export type MailBroadcastInput = z.infer<typeof MailBroadcastInput>;

/** Accepted on the stream of its city. Each step that is done extends its time. */
export const MailBroadcast = defineOperation({
  kind: 'mail.broadcast',
  input: MailBroadcastInput,
  succeeded: MailBroadcastSucceeded,
  deadlineMs: 5 * 60_000,
  overdue: 'what was sent by then stays',
  maxAttempts: 10,
});

export function broadcastTarget(requestId: string): string {
  return `mail/${requestId}`;
}
