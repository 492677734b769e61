import { createHash } from 'node:crypto';
import type { Allowance, FileTree, TreeEntry } from './file-tree.js';

/** What an edit is about to do to a tree: new texts by path, and paths that go, each with everything below it. */
export interface Overlay {
  readonly texts: ReadonlyMap<string, string>;
  readonly removed: ReadonlySet<string>;
}

/** A tree as it will be after an edit. */
export class OverlayTree implements FileTree {
  constructor(
    private readonly base: FileTree,
    private readonly overlay: Overlay,
  ) {}

  get label(): string {
    return this.base.label;
  }

  async read(path: string): Promise<string | undefined> {
    const text = this.overlay.texts.get(path);
    if (text !== undefined) return text;
    return this.#isRemoved(path) ? undefined : this.base.read(path);
  }

  async list(path: string): Promise<readonly TreeEntry[]> {
    const entries = new Map<string, TreeEntry>();
    const below = path === '' ? '' : `${path}/`;
    if (!this.#isRemoved(path))
      for (const entry of await this.base.list(path)) if (!this.#isRemoved(below + entry.name)) entries.set(entry.name, entry);
    for (const name of this.#added(below)) {
      const [first, ...rest] = name.split('/');
      if (/^[._]/.test(first!)) continue;
      entries.set(first!, { name: first!, kind: rest.length > 0 ? 'directory' : 'file' });
    }
    return [...entries.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async digests(path: string, allowance?: Allowance): Promise<readonly (readonly [string, string])[]> {
    const below = path === '' ? '' : `${path}/`;
    const found = new Map(
      this.#isRemoved(path) ? [] : (await this.base.digests(path, allowance)).filter(([file]) => !this.#isRemoved(file)),
    );
    for (const name of this.#added(below)) {
      const text = this.overlay.texts.get(below + name)!;
      found.set(below + name, createHash('sha256').update(text).digest('hex'));
    }
    return [...found].sort(([a], [b]) => (a < b ? -1 : 1));
  }

  /** New texts below a directory, relative to it. */
  #added(below: string): string[] {
    return [...this.overlay.texts.keys()].filter((file) => file.startsWith(below)).map((file) => file.slice(below.length));
  }

  #isRemoved(path: string): boolean {
    for (let at = path; at !== '' && at !== '.'; at = at.includes('/') ? at.slice(0, at.lastIndexOf('/')) : '')
      if (this.overlay.removed.has(at)) return true;
    return false;
  }
}
