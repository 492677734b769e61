import type { BigIntStats } from 'node:fs';
import path from 'node:path';
import { atOnce } from '../../../../platform/time/at-once.js';
import { digestOf, readEntries, type Change, type DiskEntry } from './directory-entries.js';
import { processCache, type FileCache, type KnownFile } from './file-cache.js';
import { checkKind, checkSize, readContent } from './file-content.js';
import { type Allowance, type FileTree, type TreeEntry, TreeFailure } from './file-tree.js';
import { isSettled, Ledger, stampOf } from './ledger.js';
import { errnoOf, isAbsent, isBelow, relativePath } from './paths.js';
import { lstat, orAbsent, realpath, realpathBelow, statTarget } from './placed.js';

const MAX_TEXT_BYTES = 1024 * 1024;
const MAX_DIGEST_BYTES = 256 * 1024 * 1024;
const MAX_DIGEST_ENTRIES = 20_000;
/** So many files are asked for at a time; how many threads that takes, `DiskPlaces` says. */
const CONCURRENCY = 16;
/** Digesting keeps the text of files up to this size: most of them are read next. */
const SMALL_BYTES = 64 * 1024;

/** Runtime state, never configuration. */
const NOT_CONTENT = new Set(['.git', '.gc', '.beads']);
const TOO_MUCH = 'with it there is more than may be read';
const OF_THE_FILES = new Map([
  ['ENAMETOOLONG', 'the path is too long'],
  ['ELOOP', 'it goes through a loop of symbolic links'],
]);

/**
 * The files below a real directory. They belong to people and agents, so nothing about them is trusted: links may lead
 * anywhere inside the directory and nowhere else, and the work a reading takes is bounded.
 */
export class DiskTree implements FileTree {
  #real: Promise<string> | undefined;
  /** What this tree has seen of a file stays: one composing sees one state of it. */
  readonly #seen = new Map<string, KnownFile>();

  readonly #within: string | undefined;
  readonly #cache: FileCache;

  /**
   * @param root absolute; it may not exist, then the tree is empty.
   * @param ledger several trees may write into one.
   * @param options `within`: a real path above the root, inside which links may lead, the root itself when absent.
   */
  constructor(
    readonly root: string,
    readonly label = '',
    readonly ledger = new Ledger(),
    options: { readonly within?: string; readonly cache?: FileCache } = {},
  ) {
    this.#within = options.within;
    this.#cache = options.cache ?? processCache;
  }

  async read(wanted: string): Promise<string | undefined> {
    return this.#guarded(wanted, async (name) => {
      const seen = this.#seen.get(name)?.text;
      if (seen !== undefined) return seen;
      const at = await this.#locate(name);
      if (at === undefined) return undefined;
      const known = await this.#known(at, name, MAX_TEXT_BYTES, true);
      this.#seen.set(name, known);
      return known.text;
    });
  }

  /** @param changeOf what an edit is about to change in a directory: it may hold so much with that. */
  async list(wanted: string, changeOf?: ChangeOf): Promise<readonly TreeEntry[]> {
    const found = await this.#guarded(wanted, async (name) => {
      const at = await this.#locate(name);
      if (at === undefined) return [];
      const entries = (await this.#entries(at, name, changeOf)).filter((entry) => !/^[._]/.test(entry.name));
      return Promise.all(entries.map(async (entry) => (entry.isLink ? this.#linkTarget(at, entry) : entry)));
    });
    return (found ?? []).flatMap((entry) => (entry === undefined ? [] : [{ name: entry.name, kind: entry.kind }]));
  }

  /** @param changeOf as of `list`, for every directory in it. */
  async digests(
    wanted: string,
    allowance: Allowance = { files: Infinity, bytes: Infinity },
    changeOf?: ChangeOf,
  ): Promise<readonly (readonly [path: string, sha256: string])[]> {
    const walk: Walk = { found: [], bytes: 0, entries: 0, allowance, changeOf };
    await this.#guarded(wanted, async (name) => {
      const at = await this.#locate(name);
      if (at !== undefined) await this.#walk({ real: at, name, above: [] }, walk);
    });
    return walk.found.sort(([a], [b]) => (a < b ? -1 : 1));
  }

  /** Level by level: folders within folders do not add to what is under way. */
  async #walk(root: Folder, walk: Walk): Promise<void> {
    for (let level = [root]; level.length > 0;) {
      const files: [real: string, name: string][] = [];
      const folders: Folder[] = [];
      await atOnce(CONCURRENCY, level, (folder) => this.#look(folder, walk, files, folders));
      await atOnce(CONCURRENCY, files, async ([real, name]) => {
        const known = await orAbsent(this.#known(real, name, MAX_DIGEST_BYTES, false, walk));
        if (known === undefined) return;
        if (known.text !== undefined) this.#seen.set(name, known);
        walk.found.push([name, known.sha256]);
      });
      level = folders;
    }
  }

  /** What is in a folder. Folders count as well: with two links each to the next one, thirty of them are a thousand million. */
  async #look({ real: at, name, above }: Folder, walk: Walk, files: [real: string, name: string][], folders: Folder[]): Promise<void> {
    relativePath(name);
    if (above.includes(at)) throw new TreeFailure(name, 'it is a link to a directory above it');
    if (walk.entries > MAX_DIGEST_ENTRIES || walk.allowance.files < 0) return;
    const entries = (await this.#entries(at, name, walk.changeOf)).filter((entry) => !NOT_CONTENT.has(entry.name));
    walk.allowance.files -= entries.length;
    if ((walk.entries += entries.length) > MAX_DIGEST_ENTRIES)
      throw new TreeFailure(name, `there are more than ${MAX_DIGEST_ENTRIES} files and directories`);
    if (walk.allowance.files < 0) throw new TreeFailure(name, TOO_MUCH);
    for (const entry of entries) {
      const inner = name === '' ? entry.name : `${name}/${entry.name}`;
      const real = entry.isLink ? await this.#locate(inner) : path.join(at, entry.name);
      if (real === undefined) continue;
      const isFolder = entry.isLink ? (await lstat(real)).isDirectory() : entry.kind === 'directory';
      if (isFolder) folders.push({ real, name: inner, above: [...above, at] });
      else files.push([real, inner]);
    }
  }

  /** A file's content, from memory when its stamp is one that was read before. */
  async #known(at: string, name: string, maxBytes: number, text: boolean, walk?: Walk): Promise<KnownFile> {
    const found = await lstat(at);
    try {
      check(found, name, maxBytes, walk);
    } catch (error) {
      // Once it is mended, that shows.
      this.ledger.noteEntry(at, found);
      throw error;
    }
    const cached = this.#cache.get(at, stampOf(found));
    if (cached !== undefined && (!text || cached.text !== undefined)) {
      this.ledger.noteEntry(at, found, () => cached.sha256);
      return cached;
    }
    const content = await readContent(at, name, maxBytes, text || Number(found.size) <= SMALL_BYTES);
    this.ledger.noteEntry(at, content.found, () => content.sha256, content.foundAt);
    const read = text ? decoded(content.bytes!, name) : content.bytes && decodedOrNot(content.bytes);
    const known = { stamp: stampOf(content.found), sha256: content.sha256, ...(read === undefined ? {} : { text: read }) };
    if (isSettled(content.found, content.foundAt)) this.#cache.set(at, known);
    return known;
  }

  /** Everything in a directory, sorted by name, links as such; from memory when its stamp is one of which it was read before. */
  async #entries(at: string, name: string, changeOf?: ChangeOf): Promise<readonly DiskEntry[]> {
    const known = changeOf === undefined ? this.#cache.folder(at) : undefined;
    if (known !== undefined) {
      const now = await lstat(at);
      if (stampOf(now) === known.stamp) {
        this.ledger.noteEntry(at, now, () => digestOf(known.entries));
        this.#cache.setFolder(at, known);
        return known.entries;
      }
    }
    const { found, foundAt, entries } = await readEntries(at, name, changeOf?.(name), (full) => this.ledger.noteEntry(at, full));
    this.ledger.noteEntry(at, found, () => digestOf(entries), foundAt);
    if (isSettled(found, foundAt)) this.#cache.setFolder(at, { stamp: stampOf(found), entries });
    return entries;
  }

  /** A link as what it leads to; undefined when it leads nowhere. Where it leads is checked when that is read. */
  async #linkTarget(at: string, entry: DiskEntry): Promise<DiskEntry | undefined> {
    const link = path.join(at, entry.name);
    const target = await orAbsent(statTarget(link));
    if (target === undefined) {
      this.ledger.noteAbsent(link);
      return undefined;
    }
    return { ...entry, kind: target.isDirectory() ? 'directory' : 'file' };
  }

  /** The real path of something inside; undefined when it is not there. @throws TreeFailure when links lead outside. */
  async #locate(name: string): Promise<string | undefined> {
    const root = await orAbsent((this.#real ??= realpath(this.root)));
    if (root === undefined) {
      this.#real = undefined;
      this.ledger.noteAbsent(this.root);
      return undefined;
    }
    const written = name === '' ? root : path.join(root, name);
    const real = await realpathBelow(root, name).catch(async (error: unknown) => {
      // A link to itself, say: once it is another one, that shows.
      await lstat(written).then(
        (link) => this.ledger.noteEntry(written, link),
        () => this.ledger.noteAbsent(written),
      );
      throw error;
    });
    if (real === undefined) {
      this.ledger.noteAbsent(written);
      // Whether something outside exists is not told either.
      if (name.includes('/')) await this.#locate(path.posix.dirname(name));
      return undefined;
    }
    if (real !== written) this.ledger.noteLink(written, real);
    const within = this.#within ?? root;
    if (real !== within && !isBelow(within, real)) throw new TreeFailure(name, 'it leads outside');
    return real;
  }

  async #guarded<T>(wanted: string, work: (name: string) => Promise<T>): Promise<T | undefined> {
    const name = relativePath(wanted);
    try {
      return await work(name);
    } catch (error) {
      const errno = errnoOf(error);
      if (error instanceof TreeFailure || errno === undefined) throw error;
      if (isAbsent(error)) return undefined;
      const own = OF_THE_FILES.get(errno);
      throw new TreeFailure(name, own ?? `it cannot be read (${errno})`, own === undefined, { cause: error });
    }
  }
}

type ChangeOf = (folder: string) => Change;

interface Walk {
  readonly found: [path: string, sha256: string][];
  readonly allowance: Allowance;
  readonly changeOf: ChangeOf | undefined;
  bytes: number;
  entries: number;
}

interface Folder {
  readonly real: string;
  readonly name: string;
  /** Real paths of those that it is in. */
  readonly above: readonly string[];
}

/** @throws TreeFailure for what may not be read */
function check(found: BigIntStats, name: string, maxBytes: number, walk: Walk | undefined): void {
  const bytes = Number(found.size);
  checkKind(found, name);
  checkSize(bytes, name, maxBytes);
  if (walk === undefined) return;
  // What is too much for one folder counts for all as well: what is left for the next one does not depend on which bound it was.
  walk.allowance.bytes -= bytes;
  if ((walk.bytes += bytes) > MAX_DIGEST_BYTES)
    throw new TreeFailure(name, `the files are larger than ${MAX_DIGEST_BYTES / (1024 * 1024)} MiB together`);
  if (walk.allowance.bytes < 0) throw new TreeFailure(name, TOO_MUCH);
}

/** Every character of the file, a byte order mark too: an edit is made from exactly what is there. */
function decoded(bytes: Buffer, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new TreeFailure(name, 'it is not UTF-8 text');
  }
}

/** Files that are no text have only a digest. */
function decodedOrNot(bytes: Buffer): string | undefined {
  try {
    return decoded(bytes, '');
  } catch {
    return undefined;
  }
}
