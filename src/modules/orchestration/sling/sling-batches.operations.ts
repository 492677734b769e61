import { z } from 'zod';
import { SlingBatchSucceeded } from '../../../contract/events/sling.events.js';
import { defineOperation } from '../../../platform/operations/operation.js';

export const SlingBatchInput = z.object({ streamId: z.int(), requestId: z.string() });
export type SlingBatchInput = z.infer<typeof SlingBatchInput>;

/** Accepted on the stream of its city. Each step that is done extends its time. */
export const SlingBatch = defineOperation({
  kind: 'sling.batch',
  input: SlingBatchInput,
  succeeded: SlingBatchSucceeded,
  deadlineMs: 5 * 60_000,
  overdue: 'what was slung by then stays',
  maxAttempts: 10,
});

export function batchTarget(requestId: string): string {
  return `sling/${requestId}`;
}
