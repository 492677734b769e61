import path from 'node:path';
import { describeIssue, errorsOf, type Issue } from '../issue.js';
import { DiskTree } from '../trees/disk-tree.js';
import type { FileTree } from '../trees/file-tree.js';
import type { Ledger } from '../trees/ledger.js';
import { errnoOf, isBelow, relativePath } from '../trees/paths.js';
import { lstat, realpath } from '../trees/placed.js';
import { builtinPacksDirectory } from './builtin.js';
import type { IsOthers } from './checkout-store.js';
import { ABSENT, checkoutDirectory, faultOf, treeOfCheckout } from './checkouts.js';
import { builtinHome, cityHome, isOfAnotherCity, outside, repositoryHome, type Home } from './homes.js';
import { readLock, type Lock } from './lock.js';
import type { FoundPack, ImportRequest, PackStore } from './pack-store.js';
import { InvalidSource, parseSource, type BuiltinSource, type LocalSource, type PackSource, type RepositorySource } from './sources.js';
import { allow, InvalidConstraint, parseConstraint } from './versions.js';

/** Directories that hold state of ours or of others, never packs. */
const NOT_PACKS = new Set(['.git', '.gc', '.beads', '.packs']);
const REMEDY = 'install the packs of this city';
/** One text for both: who may not see a city does not learn here that it is there. */
const NOT_HERE = 'there is no such directory, or it belongs to another city';

export interface DiskPackStoreOptions {
  /** The city's own files, as they are or as an edit would leave them. */
  readonly city: FileTree;
  /** Where they lie. */
  readonly cityDir: string;
  /** As configured: packs on disk lie below it, and what was fetched in a directory of it. */
  readonly citiesRoot: string;
  /** What is read of packs goes into it. */
  readonly ledger: Ledger;
  /** Pins to go by instead of the city's `packs.lock`. */
  readonly lock?: Lock;
  /** Where the packs lie that are shipped; the project's own directory when absent. */
  readonly builtin?: string;
  /** Whether a directory outside of the city is somebody else's, beyond what its files tell. */
  readonly isOthers?: IsOthers | undefined;
}

type Answer = FoundPack | { readonly missing: string };

/** Finds what imports name: directories of the cities root, packs that are shipped, checkouts that the lock pins. */
export class DiskPackStore implements PackStore {
  readonly #homes = new Map<FileTree, Home>();
  readonly #found = new Map<string, FoundPack>();
  readonly #checkouts = new Map<string, Promise<string | undefined>>();
  #city: Promise<Home> | undefined;
  #lock: Promise<Lock | { readonly missing: string }> | undefined;

  constructor(private readonly options: DiskPackStoreOptions) {}

  async find(request: ImportRequest): Promise<Answer> {
    let source: PackSource;
    try {
      source = parseSource(request.source);
    } catch (error) {
      if (error instanceof InvalidSource) return { missing: `the source cannot be used: ${error.message}` };
      throw error;
    }
    if (source.kind === 'local') return this.#local(source, request);
    if (source.kind === 'builtin') return this.#builtin(source);
    return this.#repository(source, request.version);
  }

  async #local(source: LocalSource, request: ImportRequest): Promise<Answer> {
    // Trees that this store did not hand out are the city itself.
    const home = this.#homes.get(request.from) ?? (await this.#cityHome());
    if (path.isAbsolute(source.path) && home.kind !== 'local') return { missing: `${outside(home)}, and an absolute path does not` };
    const wanted = path.resolve(home.directory, relativePath(request.folder), source.path);
    if (isBelow(home.boundary, wanted) || wanted === home.boundary) return this.#directory(wanted, home);
    // The configured spelling of the root may differ from its real path: both count as inside.
    const spelled = path.resolve(this.options.citiesRoot);
    if (home.kind !== 'local' || !isBelow(spelled, wanted)) return { missing: outside(home) };
    return this.#directory(path.join(home.boundary, path.relative(spelled, wanted)), home);
  }

  async #builtin({ name }: BuiltinSource): Promise<Answer> {
    const shipped = this.options.builtin ?? builtinPacksDirectory();
    const boundary = await realpath(shipped).catch(() => shipped);
    const found = await this.#directory(path.join(boundary, name), builtinHome(boundary));
    return 'missing' in found ? { missing: `no pack is shipped under the name ${name}` } : found;
  }

  async #repository(source: RepositorySource, version: string | undefined): Promise<Answer> {
    const lock = await (this.#lock ??= this.#readLock());
    if ('missing' in lock) return lock;
    const pin = lock.get(source.id);
    if (pin === undefined) return { missing: `it is not in packs.lock: ${REMEDY}` };
    try {
      if (version !== undefined && !allow([parseConstraint(version)], pin))
        return { missing: `what packs.lock pins is not what the version allows: ${REMEDY}` };
    } catch (error) {
      if (error instanceof InvalidConstraint) return { missing: `the version cannot be used: ${error.message}` };
      throw error;
    }
    const { boundary } = await this.#cityHome();
    // What is in the store was fetched for whoever may read the repository, which may be another city's.
    if (source.transport === 'file' && (await this.#isOthersRepository(source))) return { missing: NOT_HERE };
    const checkout = checkoutDirectory(boundary, source.url, pin.commit);
    let fault = this.#checkouts.get(checkout);
    if (fault === undefined) this.#checkouts.set(checkout, (fault = faultOf(checkout, source.url, pin.commit, this.options.ledger)));
    const why = await fault;
    if (why !== undefined)
      return { missing: `${why === ABSENT ? 'it was not fetched yet' : `its checkout was changed: ${why}`}: ${REMEDY}` };
    const tree = treeOfCheckout(checkout);
    return this.#directory(path.join(tree, source.folder), repositoryHome(source, tree, pin));
  }

  async #readLock(): Promise<Lock | { readonly missing: string }> {
    if (this.options.lock !== undefined) return this.options.lock;
    const issues: Issue[] = [];
    const lock = await readLock(this.options.city, issues);
    const [first] = errorsOf(issues);
    return first === undefined ? lock : { missing: describeIssue(first) };
  }

  async #directory(wanted: string, home: Home): Promise<Answer> {
    const real = await this.#realDirectory(wanted);
    if (real === undefined) return { missing: NOT_HERE };
    if (!isBelow(home.boundary, real) && !(real === home.boundary && home.kind === 'repository')) return { missing: outside(home) };
    const inside = path.relative(home.boundary, real).split(path.sep);
    if (inside.some((part) => NOT_PACKS.has(part))) return { missing: 'it lies in a directory that holds no packs' };
    if (home.kind === 'local' && (await this.#inOtherCity(real))) return { missing: NOT_HERE };
    const id = home.id(real);
    const known = this.#found.get(id);
    if (known !== undefined) return known;
    const tree = new DiskTree(real, id, this.options.ledger, { within: home.within(real) });
    const found: FoundPack = { id, tree, folder: '', version: home.version, commit: home.commit };
    this.#homes.set(tree, { ...home, directory: real });
    this.#found.set(id, found);
    return found;
  }

  async #inOtherCity(real: string): Promise<boolean> {
    const { directory: own, boundary } = await this.#cityHome();
    if (await isOfAnotherCity(real, own, boundary, (file) => this.options.ledger.noteAbsent(file))) return true;
    return real !== own && !isBelow(own, real) && (await this.options.isOthers?.(real)) === true;
  }

  async #isOthersRepository({ url }: RepositorySource): Promise<boolean> {
    const real = await realpath(url.slice('file://'.length)).catch(() => undefined);
    return real !== undefined && this.#inOtherCity(real);
  }

  #cityHome(): Promise<Home> {
    const real = (at: string): Promise<string> => realpath(at).catch(() => path.resolve(at));
    const { cityDir, citiesRoot } = this.options;
    return (this.#city ??= Promise.all([real(cityDir), real(citiesRoot)]).then(([city, root]) => cityHome(city, root)));
  }

  async #realDirectory(at: string): Promise<string | undefined> {
    const { ledger } = this.options;
    try {
      const real = await realpath(at);
      if (real !== at) ledger.noteLink(at, real);
      const found = await lstat(real);
      if (found.isDirectory()) return real;
      ledger.noteEntry(real, found);
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      ledger.noteAbsent(at);
    }
    return undefined;
  }
}
