import { plain, type Table } from '../../../files/composition/tree.js';
import type { Where } from './formula.js';

/** Where a table of a file stands. */
export function whereOf({ origin, at }: Table): Where {
  return { file: origin.file, key: at };
}

/** The texts under a key, by name. */
export function textsOf(table: Table, key: string): Record<string, string> {
  const found = table.table(key);
  return found === undefined ? {} : (plain(found) as Record<string, string>);
}
