import { posix } from 'node:path';
import type { FoundPack, ImportRequest, PackStore } from '../packs/pack-store.js';
import type { FileTree } from '../trees/file-tree.js';
import { MemoryTree } from '../trees/testing/memory-tree.js';
import type { CasePack } from './case-file.js';

type Files = Readonly<Record<string, string>>;

/** What a relative source may reach: the city with its packs, or one repository. */
interface Home {
  readonly files: Files;
  readonly commit: string | undefined;
  readonly id: (directory: string) => string;
}

/**
 * Packs of a test, named as those on disk are: a local one by its directory in the city, a fetched one by repository,
 * commit and directory. Each has a tree of its own whose label is its id.
 */
export class MemoryPacks implements PackStore {
  readonly #city: Home;
  readonly #repositories: ReadonlyMap<string, Home>;
  readonly #places = new Map<FileTree, { readonly home: Home; readonly directory: string }>();
  readonly #found = new Map<string, FoundPack>();
  readonly #texts = new Map<string, string>();
  /** How often a pack was asked for. */
  asked = 0;

  constructor(city: Files, packs: readonly CasePack[] = []) {
    this.#city = { files: city, commit: undefined, id: (directory) => directory };
    this.#repositories = new Map(packs.map((pack) => [pack.repository, homeOf(pack)]));
  }

  async find({ source, from, folder }: ImportRequest): Promise<FoundPack | { readonly missing: string }> {
    this.asked++;
    await Promise.resolve();
    if (/^[a-z]+:|^git@/.test(source)) {
      const [repository, directory] = divide(source);
      const home = this.#repositories.get(repository);
      return home === undefined ? { missing: 'it is not in packs.lock: install the packs of this city' } : this.#directory(home, directory);
    }
    const { home, directory } = this.#places.get(from) ?? { home: this.#city, directory: '' };
    const wanted = posix.normalize(posix.join(directory, folder, source)).replace(/\/$/, '');
    if (/^(\.\.$|\.\.\/|\/)/.test(wanted)) return { missing: 'it has to lie inside the city' };
    return this.#directory(home, wanted);
  }

  /** The text of a file of the city or of a pack that was asked for, by the name that issues have for it. */
  textOf(file: string): string | undefined {
    return this.#city.files[file] ?? this.#texts.get(file);
  }

  #directory(home: Home, directory: string): FoundPack | { readonly missing: string } {
    const id = home.id(directory);
    const known = this.#found.get(id);
    if (known !== undefined) return known;
    const prefix = directory === '' ? '' : `${directory}/`;
    const inside = Object.entries(home.files).flatMap(([path, text]) =>
      path.startsWith(prefix) ? [[path.slice(prefix.length), text]] : [],
    );
    if (inside.length === 0) return { missing: 'there is no such directory' };
    for (const [path, text] of inside) this.#texts.set(`${id}:${path}`, text!);
    const tree = new MemoryTree(Object.fromEntries(inside) as Files, id);
    const version = home.commit === undefined ? undefined : '1.4.0';
    const found: FoundPack = { id, tree, folder: '', version, commit: home.commit };
    this.#places.set(tree, { home, directory });
    this.#found.set(id, found);
    return found;
  }
}

function homeOf({ repository, commit, files }: CasePack): Home {
  const at = commit === undefined ? repository : `${repository.replace(/\.git$/, '')}@${commit.slice(0, 12)}`;
  return { files, commit, id: (directory) => (directory === '' ? at : `${at}//${directory}`) };
}

function divide(source: string): [repository: string, directory: string] {
  const scheme = source.indexOf('://');
  const at = source.indexOf('//', scheme < 0 ? 0 : scheme + 3);
  return at < 0 ? [source, ''] : [source.slice(0, at), source.slice(at + 2)];
}
