import { createHash } from 'node:crypto';
import { z } from 'zod';
import { storableText } from '../../../contract/storable.js';

/** What is no text of JSON that PostgreSQL takes is stored as its bytes: whoever edits a file with a NUL is about to mend it. */
const Bytes = z.object({ base64: z.string() }).transform(({ base64 }) => Buffer.from(base64, 'base64').toString());
const Text = z.union([z.string(), Bytes]);

/**
 * What an edit is going to do to the files of a city, precise enough to take it back from the plan alone: after a crash
 * the process that made it is gone. A file is taken back only while it holds what the edit wrote.
 */
export const EditPlan = z.object({
  /** Tells the temporary files of this edit from all others. */
  id: z.string(),
  /** Paths relative to the city; `before` is null for a new file. */
  writes: z.array(z.object({ path: z.string(), before: Text.nullable(), after: Text })),
  /** Folders and files that go; they are put aside until the edit is over. */
  removals: z.array(z.string()),
  /** SHA-256 of the files among them: one that holds anything else stays. */
  removed: z.record(z.string(), z.string()).optional(),
  /** Folders that the writes make, outer ones first: an empty folder means something too, in `agents/` for one. */
  folders: z.array(z.string()).optional(),
});
export type EditPlan = z.infer<typeof EditPlan>;

/** A plan as JSON that PostgreSQL takes, and that `EditPlan` parses. */
export function storedPlan(plan: EditPlan): string {
  const stored = (text: string): unknown => (storableText(text) === text ? text : { base64: Buffer.from(text).toString('base64') });
  const writes = plan.writes.map(({ path, before, after }) => ({
    path,
    before: before === null ? null : stored(before),
    after: stored(after),
  }));
  return JSON.stringify({ ...plan, writes });
}

export function hashOf(text: string | Buffer): string {
  return createHash('sha256').update(text).digest('hex');
}
