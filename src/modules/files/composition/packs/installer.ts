import type { Git } from '../../../../platform/git/git.js';
import { abortion } from '../../../../platform/git/git-process.js';
import { atOnce } from '../../../../platform/time/at-once.js';
import { LIMITS } from '../compose/limits.js';
import { errorsOf, type Issue } from '../issue.js';
import { TreeFailure, type FileTree } from '../trees/file-tree.js';
import { Ledger } from '../trees/ledger.js';
import { CheckoutStore, type CHECKOUT_LIMITS, type IsOthers } from './checkout-store.js';
import { DiskPackStore } from './disk-pack-store.js';
import { importsOfCity, importsOfPack, type Wish } from './imports-of.js';
import type { Lock, LockedPack } from './lock.js';
import { PackFailure, packFailure } from './pack-failure.js';
import { InvalidSource, parseSource, type PackSource, type RepositorySource } from './sources.js';
import { VersionLookup } from './version-lookup.js';

/** All of an installation, however many repositories take part. */
const DEADLINE_MS = 5 * 60_000;
const MAX_PACKS = 500;
const MAX_ROUNDS = 32;
const PARALLEL = 4;

export interface InstallRequest {
  /** The city's files, as they are or as an edit would leave them. */
  readonly city: FileTree;
  readonly cityDir: string;
  /** What is pinned so far; a pin stays while every import allows it. */
  readonly lock: Lock;
  /** As the store asks it. */
  readonly isOthers?: IsOthers | undefined;
  readonly signal?: AbortSignal;
}

export interface Installed {
  /** Pins of every repository that is imported, directly or by a pack. */
  readonly lock: Lock;
  /** What is wrong with files that were read on the way; composing tells them too. */
  readonly issues: readonly Issue[];
}

/** Resolves what a city imports and fetches it. It writes into the store of checkouts and nowhere else. */
export class PackInstaller {
  readonly #checkouts: CheckoutStore;

  constructor(
    private readonly citiesRoot: string,
    private readonly git: Git,
    private readonly options: {
      readonly builtin?: string;
      readonly deadlineMs?: number;
      readonly checkouts?: typeof CHECKOUT_LIMITS;
    } = {},
  ) {
    this.#checkouts = new CheckoutStore(citiesRoot, git, options.checkouts);
  }

  /**
   * Pins everything that is imported and fetches it. The caller writes the lock.
   *
   * @throws PackFailure for the first import that cannot be installed
   */
  async resolve(request: InstallRequest): Promise<Installed> {
    const signal = this.#signal(request.signal);
    const lookup = new VersionLookup(this.git, this.citiesRoot, signal, request.isOthers);
    const ensure = this.#ensuring(request.isOthers, signal);
    let pins: ReadonlyMap<string, LockedPack> = new Map();
    // Imports of a pack are known only when it is there; what they demand may change pins that were made before.
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const walked = await this.#walk(request, pins, lookup, ensure);
      if ('lock' in walked) return walked;
      ({ pins } = walked);
    }
    throw new PackFailure('invalid_constraint', 'the imports of packs demand versions of each other without an end');
  }

  /** Fetches what the lock pins and the store lacks. @throws PackFailure */
  async ensureInstalled(lock: Lock, isOthers?: IsOthers, outer?: AbortSignal): Promise<void> {
    const ensure = this.#ensuring(isOthers, this.#signal(outer));
    await atOnce(PARALLEL, lock, async ([id, { commit }]) => {
      const source = sourceOf(id);
      if (source.kind === 'repository') await ensure(source, commit);
    });
  }

  /** To look whether a checkout is whole costs a look at each of its files: once for all that lies in it. */
  #ensuring(isOthers: IsOthers | undefined, signal: AbortSignal): (source: RepositorySource, commit: string) => Promise<string> {
    const ensured = new Map<string, Promise<string>>();
    return (source, commit) => {
      if (signal.aborted) throw packFailure(abortion(signal), source, 'install_failed');
      const key = JSON.stringify([source.url, commit]);
      const found = ensured.get(key) ?? this.#checkouts.ensure(source, commit, signal, isOthers);
      ensured.set(key, found);
      return found;
    };
  }

  /** The version that an import without one is written with; undefined for what has no versions. @throws PackFailure */
  async defaultVersion(source: PackSource, outer?: AbortSignal): Promise<string | undefined> {
    if (source.kind !== 'repository' || source.ref !== undefined) return undefined;
    return new VersionLookup(this.git, this.citiesRoot, this.#signal(outer)).defaultConstraint(source);
  }

  /** Goes through the imports once; begins again with other pins as soon as one turns out to be wrong. */
  async #walk(
    { city, cityDir, lock, isOthers }: InstallRequest,
    pins: ReadonlyMap<string, LockedPack>,
    lookup: VersionLookup,
    ensure: (source: RepositorySource, commit: string) => Promise<string>,
  ): Promise<Installed | { pins: ReadonlyMap<string, LockedPack> }> {
    const issues: Issue[] = [];
    // Of this round: what a pack demanded that is another one by now counts no more.
    const versions = new Map<string, Set<string>>();
    const found = new Map(pins);
    const used = new Map<string, LockedPack>();
    const { citiesRoot } = this;
    const store = new DiskPackStore({ city, cityDir, citiesRoot, ledger: new Ledger(), lock: found, isOthers, ...this.#builtin() });
    const visited = new Set<string>();
    const waiting = await readable(() => importsOfCity(city, issues));
    // It grows on the way.
    for (const wish of waiting) {
      if (waiting.length > LIMITS.imports) throw new PackFailure('install_failed', `there are more than ${LIMITS.imports} imports`);
      const source = sourceOf(wish.source, wish.asked);
      if (source.kind === 'repository') {
        checkOrigin(source, wish);
        const { changed, pin } = await this.#pin(source, wish, found, versions, lock, lookup);
        if (changed) return { pins: found };
        used.set(source.id, pin);
        await ensure(source, pin.commit);
      }
      const pack = await store.find(wish);
      if ('missing' in pack) {
        // A directory that is not there yet is for composing to tell; a repository has just been fetched.
        if (source.kind !== 'repository') continue;
        throw new PackFailure('install_failed', `${wish.asked}: ${pack.missing}`, { source });
      }
      if (visited.has(pack.id)) continue;
      visited.add(pack.id);
      if (visited.size > MAX_PACKS) throw new PackFailure('install_failed', `more than ${MAX_PACKS} packs are imported`);
      // Also where the import is not transitive: prompts, fragments and files of what lies below are there for the city.
      waiting.push(...(await readable(() => importsOfPack(pack, issues))));
    }
    return { lock: used, issues: errorsOf(issues) };
  }

  async #pin(
    source: RepositorySource,
    { version }: Wish,
    found: Map<string, LockedPack>,
    versions: Map<string, Set<string>>,
    lock: Lock,
    lookup: VersionLookup,
  ): Promise<{ changed: boolean; pin: LockedPack }> {
    const wanted = versions.get(source.id) ?? new Set<string>();
    const isNew = version !== undefined && !wanted.has(version);
    versions.set(source.id, isNew ? wanted.add(version) : wanted);
    const before = found.get(source.id);
    if (before !== undefined && !isNew) return { changed: false, pin: before };
    const kept = before ?? lock.get(source.id);
    const chosen = await lookup.pin(source, [...wanted], kept);
    const pin: LockedPack = { ...chosen, fetched: kept?.commit === chosen.commit ? kept.fetched : now() };
    found.set(source.id, pin);
    return { changed: before !== undefined && before.commit !== pin.commit, pin };
  }

  #signal(outer: AbortSignal | undefined): AbortSignal {
    const deadline = AbortSignal.timeout(this.options.deadlineMs ?? DEADLINE_MS);
    return outer === undefined ? deadline : AbortSignal.any([outer, deadline]);
  }

  #builtin(): { builtin?: string } {
    const { builtin } = this.options;
    return builtin === undefined ? {} : { builtin };
  }
}

/** What a pack from elsewhere imports comes from elsewhere, too: it gets to know nothing of this machine. */
function checkOrigin(source: RepositorySource, wish: Wish): void {
  if (source.transport === 'file' && wish.from.label.includes('://'))
    throw new PackFailure('invalid_source', `${wish.asked}: a pack of a repository imports no file URLs`, { source });
}

/** @throws PackFailure invalid_source */
function sourceOf(source: string, asked?: string): PackSource {
  try {
    return parseSource(source);
  } catch (error) {
    if (!(error instanceof InvalidSource)) throw error;
    throw new PackFailure('invalid_source', `${asked === undefined ? '' : `${asked}: `}${error.message}`, { cause: error });
  }
}

async function readable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof TreeFailure)) throw error;
    throw new PackFailure('install_failed', `${error.path}: ${error.message}`, { cause: error });
  }
}

/** Seconds are enough, and the same for all that is fetched at once. */
function now(): string {
  return new Date().toISOString().replace(/\.\d+Z$/, 'Z');
}
