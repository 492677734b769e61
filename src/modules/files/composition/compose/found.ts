import type { Table } from '../tree.js';
import { fileName } from '../trees/file-tree.js';
import type { Home } from './home.js';
import { below } from './run.js';

/** A formula, order, command or check of one city or pack. */
export interface Found {
  readonly name: string;
  /** As in `Issue.file`. */
  readonly file: string;
  readonly sha256: string;
  readonly pack: string;
  /** Of a formula that is no workflow: what it is. */
  readonly type?: string;
  /** Of an order: what it says, each value with its place. */
  readonly order?: Table;
}

export function foundFile(home: Home, name: string, path: string, sha256: string): Found {
  return { name, file: fileName(home.tree, path), sha256, pack: home.pack };
}

/** The files below a folder, by their path in it and in the tree; names that begin with `.` or `_` are left out. */
export function filesBelow(home: Home, folder: string, digests: ReadonlyMap<string, string>): { name: string; path: string }[] {
  const prefix = `${below(home.path, folder)}/`;
  const found: { name: string; path: string }[] = [];
  for (const path of digests.keys()) {
    if (!path.startsWith(prefix)) continue;
    const name = path.slice(prefix.length);
    if (!/(^|\/)[._]/.test(name)) found.push({ name, path });
  }
  return found;
}
