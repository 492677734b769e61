import { z } from 'zod';
import { RigCreateSucceeded } from '../../../contract/events/rigs.events.js';
import { defineOperation } from '../../../platform/operations/operation.js';

/** What a worker has to know to clone a rig. */
export const RigCreateInput = z.object({
  streamId: z.int(),
  requestId: z.string(),
  name: z.string(),
  path: z.string(),
  gitUrl: z.string(),
  prefix: z.string().optional(),
  defaultBranch: z.string().optional(),
  actor: z.string(),
});
export type RigCreateInput = z.infer<typeof RigCreateInput>;

/** How long git may take, and everything around it. */
export const CLONE_MS = 20 * 60_000;
const AROUND_MS = 5 * 60_000;

/** Accepted on the stream of its city. */
export const RigCreate = defineOperation({
  kind: 'rig.create',
  input: RigCreateInput,
  succeeded: RigCreateSucceeded,
  deadlineMs: CLONE_MS + AROUND_MS,
  maxAttempts: 5,
});

/** What an unfinished operation works on, beside everything else on the city's stream. */
export function rigTarget(name: string): string {
  return `rig/${name}`;
}
