import { createHash } from 'node:crypto';
import type { Change } from './directory-entries.js';
import type { DiskTree } from './disk-tree.js';
import type { Allowance, FileTree, TreeEntry } from './file-tree.js';

/** What an edit is about to do to a tree: new texts by path, and paths that go, each with everything below it. */
export interface Overlay {
  readonly texts: ReadonlyMap<string, string>;
  readonly removed: ReadonlySet<string>;
}

/** A tree as it will be after an edit. */
export class OverlayTree implements FileTree {
  readonly #looked = new Set<string>();

  constructor(
    private readonly base: DiskTree,
    private readonly overlay: Overlay,
  ) {}

  get label(): string {
    return this.base.label;
  }

  async read(path: string): Promise<string | undefined> {
    const text = this.overlay.texts.get(path);
    if (text !== undefined) {
      this.#looked.add(path);
      return text;
    }
    return this.#isRemoved(path) ? undefined : this.base.read(path);
  }

  /** New texts that nobody has asked for until now, neither what they say nor whether they change. */
  overlooked(): string[] {
    return [...this.overlay.texts.keys()].filter((path) => !this.#looked.has(path));
  }

  async list(path: string): Promise<readonly TreeEntry[]> {
    const entries = new Map<string, TreeEntry>();
    const below = path === '' ? '' : `${path}/`;
    if (!this.#isRemoved(path))
      for (const entry of await this.base.list(path, this.#change))
        if (!this.#isRemoved(below + entry.name)) entries.set(entry.name, entry);
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
      this.#isRemoved(path) ? [] : (await this.base.digests(path, allowance, this.#change)).filter(([file]) => !this.#isRemoved(file)),
    );
    for (const name of this.#added(below)) {
      const text = this.overlay.texts.get(below + name)!;
      this.#looked.add(below + name);
      found.set(below + name, createHash('sha256').update(text).digest('hex'));
    }
    return [...found].sort(([a], [b]) => (a < b ? -1 : 1));
  }

  /** Directories have to be as small as they have to be after the edit: what is accepted here can be read from the disk then. */
  readonly #change = (folder: string): Change => {
    const below = folder === '' ? '' : `${folder}/`;
    const namesOf = (paths: Iterable<string>): string[] =>
      [...paths].filter((path) => path.startsWith(below)).map((path) => path.slice(below.length));
    return {
      added: new Set(namesOf(this.overlay.texts.keys()).map((name) => name.split('/', 1)[0]!)),
      removed: new Set(namesOf(this.overlay.removed)),
    };
  };

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
