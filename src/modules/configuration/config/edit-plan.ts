import { createHash } from 'node:crypto';
import { z } from 'zod';

/**
 * What an edit is going to do to the files of a city, precise enough to take it back from the plan alone: after a crash
 * the process that made it is gone. A file is taken back only while it holds what the edit wrote.
 */
export const EditPlan = z.object({
  /** Tells the temporary files of this edit from all others. */
  id: z.string(),
  /** Paths relative to the city; `before` is null for a new file. */
  writes: z.array(z.object({ path: z.string(), before: z.string().nullable(), after: z.string() })),
  /** Folders and files that go; they are put aside until the edit is over. */
  removals: z.array(z.string()),
  /** SHA-256 of the files among them: one that holds anything else stays. */
  removed: z.record(z.string(), z.string()).optional(),
  /** Folders that the writes make, outer ones first: an empty folder means something too, in `agents/` for one. */
  folders: z.array(z.string()).optional(),
});
export type EditPlan = z.infer<typeof EditPlan>;

export function hashOf(text: string | Buffer): string {
  return createHash('sha256').update(text).digest('hex');
}
