import { watch, type FSWatcher } from 'node:fs';
import path from 'node:path';

/** Never configuration: what runs writes here all the time. */
const IGNORED = new Set(['.git', '.beads', 'node_modules']);
/** What the service itself writes for a moment, next to the files. */
const OWN_PREFIX = '.svc-';
/** Paths that one city may have watched. */
const MAX_PATHS = 2_000;
/** After the system has refused a watch (its limit is for all processes of a user) none is asked for this long. */
const REFUSED_MS = 60_000;

interface Watched {
  readonly watcher: FSWatcher;
  readonly followers: Set<FileWatch>;
}

/**
 * The watches of this process, one a path however many cities follow it. A directory is watched, not each file in it: one
 * inotify watch, which lists nothing. Where the file system tells nothing, or no watch is left, it stays silent.
 */
export class FileWatches {
  readonly #watched = new Map<string, Watched>();
  #refusedUntil = -Infinity;

  /** How many paths are watched. */
  get size(): number {
    return this.#watched.size;
  }

  /** True when the path is watched for this follower from now on. */
  add(at: string, follower: FileWatch): boolean {
    const known = this.#watched.get(at);
    if (known !== undefined) {
      known.followers.add(follower);
      return true;
    }
    if (performance.now() < this.#refusedUntil) return false;
    try {
      const watcher = watch(at, { persistent: false }, (_, name) => this.#changed(at, name));
      watcher.on('error', () => this.#lose(at));
      this.#watched.set(at, { watcher, followers: new Set([follower]) });
      return true;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOSPC' || code === 'EMFILE') this.#refusedUntil = performance.now() + REFUSED_MS;
      return false;
    }
  }

  remove(at: string, follower: FileWatch): void {
    const known = this.#watched.get(at);
    if (known === undefined) return;
    known.followers.delete(follower);
    if (known.followers.size > 0) return;
    known.watcher.close();
    this.#watched.delete(at);
  }

  #changed(at: string, name: string | null): void {
    if (name?.startsWith(OWN_PREFIX) === true) return;
    for (const follower of this.#watched.get(at)?.followers ?? []) follower.touch();
    if (name === null) return;
    // What stands at this path now may be another directory: the old watch would follow the old one.
    if (name === path.basename(at)) this.#lose(at);
    const below = path.join(at, name);
    if (this.#watched.has(below)) this.#lose(below);
  }

  #lose(at: string): void {
    const known = this.#watched.get(at);
    if (known === undefined) return;
    known.watcher.close();
    this.#watched.delete(at);
    for (const follower of known.followers) follower.lost(at);
    for (const other of this.#watched.keys()) if (other.startsWith(`${at}${path.sep}`)) this.#lose(other);
  }
}

/** Tells that something among the files of a city changed. */
export class FileWatch {
  #wanted: ReadonlySet<string> = new Set();
  readonly #followed = new Set<string>();
  #dirty = true;

  constructor(
    private readonly watches: FileWatches,
    private readonly root: string,
  ) {}

  /** True once after each change, and at the beginning. */
  take(): boolean {
    const dirty = this.#dirty;
    this.#dirty = false;
    return dirty;
  }

  touch(): void {
    this.#dirty = true;
  }

  lost(at: string): void {
    this.#followed.delete(at);
    this.#dirty = true;
  }

  /**
   * Watches these directories, those of files within the root, and other files by themselves, from now on; what is gone is
   * given up. The directory around the root, or around what lies outside of it, is nobody's: it may hold all cities.
   */
  follow({ directories, files }: { readonly directories: readonly string[]; readonly files: readonly string[] }): void {
    const wanted = new Set([this.root]);
    const add = (at: string): void => {
      if (wanted.size < MAX_PATHS && !at.split(path.sep).some((part) => IGNORED.has(part))) wanted.add(at);
    };
    directories.forEach(add);
    for (const at of files) {
      const directory = path.dirname(at);
      if (!wanted.has(directory)) add(at.startsWith(`${this.root}${path.sep}`) ? directory : at);
    }
    this.#wanted = wanted;
    for (const at of this.#followed) {
      if (wanted.has(at)) continue;
      this.#followed.delete(at);
      this.watches.remove(at, this);
    }
    this.renew();
  }

  /** Takes up again what was lost, because another directory has come to its place. */
  renew(): void {
    if (this.#followed.size === this.#wanted.size) return;
    for (const at of this.#wanted) {
      if (this.#followed.has(at) || !this.watches.add(at, this)) continue;
      this.#followed.add(at);
      // It may have changed since it was read.
      this.#dirty = true;
    }
  }

  close(): void {
    for (const at of this.#followed) this.watches.remove(at, this);
    this.#followed.clear();
    this.#wanted = new Set();
  }
}
