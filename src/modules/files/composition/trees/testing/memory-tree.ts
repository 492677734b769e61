import { createHash } from 'node:crypto';
import type { Allowance, FileTree, TreeEntry } from '../file-tree.js';

/** Files that lie nowhere. Keys are paths. */
export class MemoryTree implements FileTree {
  readonly #files: ReadonlyMap<string, string>;

  constructor(
    files: Readonly<Record<string, string>>,
    readonly label = '',
  ) {
    this.#files = new Map(Object.entries(files));
  }

  read(path: string): Promise<string | undefined> {
    return Promise.resolve(this.#files.get(path));
  }

  list(path: string): Promise<readonly TreeEntry[]> {
    const found = new Map<string, TreeEntry>();
    for (const [name, rest] of this.#below(path)) {
      const first = name.split('/', 1)[0]!;
      if (!/^[._]/.test(first)) found.set(first, { name: first, kind: rest ? 'directory' : 'file' });
    }
    return Promise.resolve([...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1)));
  }

  digests(path: string, allowance?: Allowance): Promise<readonly (readonly [string, string])[]> {
    const found = this.#below(path).map(([name]) => {
      const whole = path === '' ? name : `${path}/${name}`;
      return [whole, createHash('sha256').update(this.#files.get(whole)!).digest('hex')] as const;
    });
    if (allowance !== undefined) allowance.files -= found.length;
    return Promise.resolve(found.sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** Paths below a directory, relative to it, and whether they lie deeper than directly in it. */
  #below(path: string): [name: string, deeper: boolean][] {
    const prefix = path === '' ? '' : `${path}/`;
    return [...this.#files.keys()].flatMap((file) => {
      if (!file.startsWith(prefix)) return [];
      const name = file.slice(prefix.length);
      return [[name, name.includes('/')] as [string, boolean]];
    });
  }
}
