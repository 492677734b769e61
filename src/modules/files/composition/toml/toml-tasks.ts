import { task } from '../../../../platform/threads/task.js';
import type { Issue } from '../issue.js';
import { carried, unpacked, type Carried } from './carried.js';
import { editToml, TomlEditError } from './edit.js';
import { parseToml } from './parse.js';

/** Parses a file; without a document the issue says why. */
export const parsing = task(
  import.meta.url,
  'parsing',
  ({ text, file }: { text: string; file: string }): { document: Carried } | { issue: Issue } => {
    const issues: Issue[] = [];
    const document = parseToml(text, file, issues);
    return document === undefined ? { issue: issues[0]! } : { document: carried(document) };
  },
);

/** A text that says what the document says; without one there is no way to write it. */
export const editing = task(
  import.meta.url,
  'editing',
  ({ text, document }: { text: string; document: Carried }): { text: string } | { refused: string } => {
    try {
      return { text: editToml(text, unpacked(document) as Record<string, unknown>) };
    } catch (error) {
      if (!(error instanceof TomlEditError)) throw error;
      return { refused: error.message };
    }
  },
);
