import { lstat, realpath } from 'node:fs/promises';
import path from 'node:path';
import type { FileTree } from '../trees/file-tree.js';
import { DiskTree } from '../trees/disk-tree.js';
import { errnoOf, isBelow, relativePath } from '../trees/paths.js';
import { builtinPacksDirectory } from './builtin.js';
import type { Lock } from './lock.js';
import type { FoundPack, ImportRequest, PackStore } from './pack-store.js';
import { parseSource, type BuiltinSource, type LocalSource, type PackSource } from './sources.js';

/** Directories that hold state of ours or of others, never packs. */
const NOT_PACKS = new Set(['.git', '.gc', '.beads', '.packs']);

export interface DiskPackStoreOptions {
  /** The city's own files; what is read of its packs goes into the same ledger. */
  readonly city: DiskTree;
  /** As configured: packs on disk lie below it. */
  readonly citiesRoot: string;
  readonly lock: Lock;
  /** Where the packs lie that are shipped; the project's own directory when absent. */
  readonly builtin?: string;
}

type Answer = FoundPack | { readonly missing: string };

/** Where the packs lie that a tree's relative sources may name. */
interface Home {
  readonly directory: string;
  readonly boundary: string;
  readonly kind: PackSource['kind'];
  /** Names a pack beside: from its path relative to `boundary`. */
  readonly id: (relative: string) => string;
}

/** Finds what imports name: directories of the cities root, packs that are shipped, checkouts that the lock pins. */
export class DiskPackStore implements PackStore {
  readonly #homes = new Map<FileTree, Home>();
  readonly #found = new Map<string, Answer>();

  constructor(private readonly options: DiskPackStoreOptions) {}

  async find(request: ImportRequest): Promise<Answer> {
    let source: PackSource;
    try {
      source = parseSource(request.source);
    } catch (error) {
      return { missing: `the source cannot be used: ${(error as Error).message}` };
    }
    if (source.kind === 'local') return this.#local(source, request);
    if (source.kind === 'builtin') return this.#builtin(source);
    return { missing: 'it is not in packs.lock: install the packs of this city' };
  }

  async #local(source: LocalSource, request: ImportRequest): Promise<Answer> {
    // Trees that this store did not hand out are the city itself, as it is or as an edit would leave it.
    const home = this.#homes.get(request.from) ?? (await this.#cityHome());
    if (path.isAbsolute(source.path) && home.kind !== 'local') return { missing: `${this.#outside(home)}, and an absolute path does not` };
    let folder: string;
    try {
      folder = relativePath(request.folder);
    } catch (error) {
      return { missing: `the directory it counts from cannot be used: ${(error as Error).message}` };
    }
    const wanted = path.resolve(home.directory, folder, source.path);
    if (isBelow(home.boundary, wanted)) return this.#directory(wanted, home);
    // The configured spelling of the root may differ from its real path: both count as inside.
    const spelled = path.resolve(this.options.citiesRoot);
    if (home.kind !== 'local' || !isBelow(spelled, wanted)) return { missing: this.#outside(home) };
    return this.#directory(path.join(home.boundary, path.relative(spelled, wanted)), home);
  }

  async #builtin({ name, id }: BuiltinSource): Promise<Answer> {
    const boundary = this.options.builtin ?? builtinPacksDirectory();
    const home: Home = { directory: boundary, boundary, kind: 'builtin', id: (relative) => `builtin:${relative}` };
    const found = await this.#directory(path.join(boundary, name), home);
    return 'missing' in found ? { missing: `no pack is shipped under the name ${id.slice('builtin:'.length)}` } : found;
  }

  async #directory(wanted: string, home: Home): Promise<Answer> {
    const real = await this.#realDirectory(wanted);
    if (real === undefined) return { missing: 'there is no such directory' };
    if (!isBelow(home.boundary, real)) return { missing: this.#outside(home) };
    const relative = path.relative(home.boundary, real);
    if (relative.split(path.sep).some((part) => NOT_PACKS.has(part))) return { missing: 'it lies in a directory that holds no packs' };
    return this.#remember(home.id(relative), { ...home, directory: real });
  }

  /** The same answer, with the same tree, for one pack however it is named. */
  #remember(id: string, home: Home): Answer {
    const known = this.#found.get(id);
    if (known !== undefined) return known;
    const tree = new DiskTree(home.directory, id, this.options.city.ledger);
    const found: FoundPack = { id, tree, folder: '', version: undefined, commit: undefined };
    this.#homes.set(tree, home);
    this.#found.set(id, found);
    return found;
  }

  async #cityHome(): Promise<Home> {
    const { city, citiesRoot } = this.options;
    const [directory, boundary] = await Promise.all([city.root, citiesRoot].map((at) => realpath(at).catch(() => path.resolve(at))));
    // As the city's owner would write it.
    const id = (relative: string): string => path.relative(directory!, path.join(boundary!, relative)) || '.';
    return { directory: directory!, boundary: boundary!, kind: 'local', id };
  }

  async #realDirectory(at: string): Promise<string | undefined> {
    const { ledger } = this.options.city;
    try {
      const real = await realpath(at);
      if (real !== at) ledger.noteLink(at, real);
      const found = await lstat(real, { bigint: true });
      if (found.isDirectory()) return real;
      ledger.noteEntry(real, found, () => Promise.resolve(true));
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      ledger.noteAbsent(at);
    }
    return undefined;
  }

  #outside(home: Home): string {
    const where = { local: 'the cities root', builtin: 'the packs that are shipped', repository: 'the repository' }[home.kind];
    return `it has to lie inside ${where}`;
  }
}
