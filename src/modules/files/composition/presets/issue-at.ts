import type { Issue } from '../issue.js';
import { join, type Table } from '../tree.js';

/** As many as a reader looks at, of what would have been accepted. */
const MAX_ACCEPTED = 50;

/** An error at a member of a table, or where it would be. */
export function issueAt(table: Table, key: string, message: string, accepted?: readonly string[]): Issue {
  const node = table.get(key);
  const place = { file: (node ?? table).origin.file, key: node?.at ?? join(table.at, key) };
  return { severity: 'error', ...place, message, ...(accepted === undefined ? {} : { accepted: accepted.slice(0, MAX_ACCEPTED) }) };
}
