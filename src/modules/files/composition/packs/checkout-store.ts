import { mkdir, mkdtemp, readdir, readlink, realpath, rename, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Git } from '../../../../platform/git/git.js';
import { removeTree } from '../../../../platform/runtime/preparation/remove-tree.js';
import { DiskTree } from '../trees/disk-tree.js';
import { TreeFailure } from '../trees/file-tree.js';
import { errnoOf, isBelow } from '../trees/paths.js';
import {
  checkoutDirectory,
  contentDigest,
  faultOf,
  manifestOfCheckout,
  STORE_DIRECTORY,
  treeOfCheckout,
  type Manifest,
} from './checkouts.js';
import { PackFailure, packFailure } from './pack-failure.js';
import type { RepositorySource } from './sources.js';

export const CHECKOUT_LIMITS = { bytes: 256 * 1024 * 1024, files: 20_000 };
const FETCH_MS = 120_000;
const WORK = '.work-';
/** Longer than any fetch takes: what is older was left by a process that died. */
const ABANDONED_MS = 60 * 60 * 1000;

/** Whether a directory below the cities root is somebody else's. */
export type IsOthers = (directory: string) => Promise<boolean>;

/** Brings checkouts into the store that all replicas share. Two who bring the same one are harmless to each other. */
export class CheckoutStore {
  constructor(
    private readonly citiesRoot: string,
    private readonly git: Git,
    private readonly limits: { readonly bytes: number; readonly files: number } = CHECKOUT_LIMITS,
  ) {}

  /**
   * The directory of a checkout, fetched when it is not there as it was once fetched.
   *
   * @throws PackFailure; nothing is left behind then
   */
  async ensure(source: RepositorySource, commit: string, signal: AbortSignal, isOthers?: IsOthers): Promise<string> {
    const root = await realpath(this.citiesRoot);
    const directory = checkoutDirectory(root, source.url, commit);
    if ((await faultOf(directory, source.url, commit)) === undefined) return directory;
    const limit = AbortSignal.any([signal, AbortSignal.timeout(FETCH_MS)]);
    let work: string | undefined;
    try {
      work = await openWorkFolder(root);
      const fresh = path.join(work, 'checkout');
      const tree = treeOfCheckout(fresh);
      const git = path.join(work, 'fetch');
      await mkdir(git);
      await this.git.checkout(await this.#remote(source, root, isOthers), commit, tree, git, this.limits, limit);
      await checkLinks(tree);
      const manifest: Manifest = { url: source.url, commit, digest: await contentDigest(new DiskTree(tree)) };
      await writeFile(manifestOfCheckout(fresh), JSON.stringify(manifest));
      await putInPlace(fresh, directory, work, () => faultOf(directory, source.url, commit));
      return directory;
    } catch (error) {
      throw failureFor(error, source);
    } finally {
      if (work !== undefined) await removeTree(work).catch(() => undefined);
    }
  }

  /** A repository on disk has to lie where packs on disk lie. */
  async #remote(source: RepositorySource, root: string, isOthers: IsOthers | undefined): Promise<RepositorySource> {
    if (source.transport !== 'file') return source;
    return { ...source, url: `file://${await fileRepository(source, root, isOthers)}` };
  }
}

/**
 * An empty folder below the cities' root, beside the checkouts; whoever asks for it removes it. What others have left there goes. The store may be a
 * link to another volume, behind which neither git nor `removeTree` goes: the answer is the real path.
 */
export async function openWorkFolder(root: string): Promise<string> {
  const named = path.join(root, STORE_DIRECTORY);
  await mkdir(named, { recursive: true });
  const store = await realpath(named);
  await removeAbandoned(store);
  return mkdtemp(path.join(store, WORK));
}

/** The real path of a repository on disk. @throws PackFailure invalid_source */
export async function fileRepository(source: RepositorySource, citiesRoot: string, isOthers?: IsOthers): Promise<string> {
  const real = await realpath(source.url.slice('file://'.length)).catch(() => undefined);
  if (real !== undefined && isBelow(await realpath(citiesRoot), real) && (await isOthers?.(real)) !== true) return real;
  const why = 'a repository on disk has to lie inside the cities root, and in no other city';
  throw new PackFailure('invalid_source', `${source.id}: ${why}`, { source });
}

/**
 * A link that leads nowhere now may lead somewhere once the checkout is in its place. It goes up first and then down: where it goes up behind a name,
 * that may be a link, too, and nobody can tell from the words how far up it is. @throws TreeFailure
 */
async function checkLinks(tree: string): Promise<void> {
  for (const entry of await readdir(tree, { recursive: true, withFileTypes: true })) {
    if (!entry.isSymbolicLink()) continue;
    const written = await readlink(path.join(entry.parentPath, entry.name));
    const target = path.resolve(entry.parentPath, written);
    const goesUpLater = stepsUp(written) !== stepsUp(path.normalize(written));
    if (path.isAbsolute(written) || goesUpLater || (target !== tree && !isBelow(tree, target)))
      throw new TreeFailure(path.relative(tree, path.join(entry.parentPath, entry.name)), 'it leads outside');
  }
}

const stepsUp = (at: string): number => at.split('/').filter((part) => part === '..').length;

/** The rename decides: whoever comes second finds the same files and drops its own. */
async function putInPlace(fresh: string, directory: string, work: string, fault: () => Promise<string | undefined>): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await rename(fresh, directory);
    } catch (error) {
      const code = errnoOf(error);
      if ((code !== 'ENOTEMPTY' && code !== 'EEXIST') || attempt === 3) throw error;
      if ((await fault()) === undefined) return;
      // What is there is not what was fetched once: it makes room.
      await rename(directory, path.join(work, `spoiled-${attempt}`)).catch((gone: unknown) => {
        if (errnoOf(gone) !== 'ENOENT') throw gone;
      });
    }
  }
}

async function removeAbandoned(store: string): Promise<void> {
  for (const name of await readdir(store)) {
    if (!name.startsWith(WORK)) continue;
    const at = path.join(store, name);
    const age =
      Date.now() -
      (await stat(at).then(
        ({ mtimeMs }) => mtimeMs,
        () => Date.now(),
      ));
    if (age > ABANDONED_MS) await removeTree(at).catch(() => undefined);
  }
}

function failureFor(error: unknown, source: RepositorySource): unknown {
  if (error instanceof PackFailure) return error;
  const found = packFailure(error, source, 'install_failed');
  if (found !== error) return found;
  if (error instanceof TreeFailure)
    return new PackFailure('install_failed', `${source.id}: ${error.path === '' ? '' : `${error.path}: `}${error.message}`, {
      source,
      cause: error,
    });
  const code = errnoOf(error);
  if (code === undefined) return error;
  return new PackFailure('install_failed', `${source.id}: its files cannot be kept here (${code})`, { source, cause: error });
}
