import { readFileSync, realpathSync, statSync, watch, type FSWatcher } from 'node:fs';
import path from 'node:path';
import { mountOf } from '../../../platform/disk/mounts.js';
import type { ReadPaths } from '../../files/composition/trees/ledger.js';

/** Never configuration: what runs writes here all the time. */
const IGNORED = new Set(['.git', '.beads', 'node_modules']);
/** What the service itself writes for a moment, next to the files. */
const OWN_PREFIX = '.svc-';
/** Paths that one city may have watched. */
const MAX_PATHS = 2_000;
/** After the system has refused a watch (its limit is for all processes of a user) none is asked for this long. */
const REFUSED_MS = 60_000;

/** What the operator's other programs leave of the watches of a user is not known: half of them are for cities. */
function watchBudget(): number {
  try {
    return Math.floor(Number(readFileSync('/proc/sys/fs/inotify/max_user_watches', 'utf8')) / 2);
  } catch {
    return Infinity;
  }
}

interface Watched {
  readonly watcher: FSWatcher;
  /** Of most paths there is one: a set for each took 7 MB for 3,000 cities. */
  readonly followers: FileWatch[];
  /** Whatever changes here is told. On a network disk others change things, of which nothing is heard. */
  readonly tells: boolean;
  /** What stood there when it was begun. */
  readonly dev: number;
  readonly ino: number;
}

/**
 * The watches of this process, one a path however many cities follow it, and one budget for all. A directory is watched, not each file in
 * it: one inotify watch, which lists nothing. Where the file system tells nothing, or no watch is left, it stays silent.
 */
export class FileWatches {
  readonly #watched = new Map<string, Watched>();
  #refusedUntil = -Infinity;

  /** @param tellsAll whether every change at a path is told. */
  constructor(
    private readonly most = watchBudget(),
    private readonly tellsAll = isLocal,
  ) {}

  /** How many paths are watched. */
  get size(): number {
    return this.#watched.size;
  }

  /** True when the path is watched for this follower from now on. */
  add(at: string, follower: FileWatch): boolean {
    const known = this.#watched.get(at);
    if (known !== undefined) {
      if (!known.followers.includes(follower)) known.followers.push(follower);
      return true;
    }
    if (this.#watched.size >= this.most || performance.now() < this.#refusedUntil) return false;
    try {
      const { dev, ino } = statSync(at);
      const watcher = watch(at, { persistent: false }, (_, name) => this.#changed(at, name));
      watcher.on('error', () => this.#lose(at));
      this.#watched.set(at, { watcher, followers: [follower], tells: this.tellsAll(at), dev, ino });
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
    const place = known.followers.indexOf(follower);
    if (place !== -1) known.followers.splice(place, 1);
    if (known.followers.length > 0) return;
    known.watcher.close();
    this.#watched.delete(at);
  }

  /** Gives up the watches here and below where another directory has come: it is not told of one above that was exchanged. Asks no disk that may be silent. */
  verify(at: string): void {
    const known = this.#watched.get(at);
    if (known?.tells !== true) return;
    try {
      const { dev, ino } = statSync(at);
      if (dev === known.dev && ino === known.ino) return;
    } catch {
      // It is gone, or lies behind what may not be looked into any more.
    }
    this.#lose(at);
  }

  tells(at: string): boolean {
    return this.#watched.get(at)?.tells === true;
  }

  #changed(at: string, name: string | null): void {
    if (name?.startsWith(OWN_PREFIX) === true) return;
    for (const follower of this.#watched.get(at)?.followers ?? []) follower.changed();
    if (name === null) return;
    // What stands at this path now may be another directory: the old watch would follow the old one.
    if (name === path.basename(at)) this.#lose(at);
    const below = path.join(at, name);
    if (this.#watched.has(below)) this.#lose(below);
  }

  /** Gives up the watches of a directory and of all below it, in one pass: a process watches tens of thousands of paths. */
  #lose(at: string): void {
    if (!this.#watched.has(at)) return;
    const below = `${at}${path.sep}`;
    const gone = [at];
    for (const other of this.#watched.keys()) if (other.startsWith(below)) gone.push(other);
    const told = new Set<FileWatch>();
    for (const each of gone) {
      const { watcher, followers } = this.#watched.get(each)!;
      watcher.close();
      this.#watched.delete(each);
      for (const follower of followers) {
        follower.lost(each);
        told.add(follower);
      }
    }
    for (const follower of told) follower.changed();
  }
}

/** A watch is where a link leads. */
function isLocal(at: string): boolean {
  try {
    return mountOf(realpathSync.native(at)).isLocal;
  } catch {
    return false;
  }
}

/** Tells that something among the files of a city changed. */
export class FileWatch {
  #wanted: ReadonlySet<string> = new Set();
  readonly #followed = new Set<string>();
  /** Something that counts has no watch, nor ever will. */
  #partial = true;

  /** @param changed is called after each change, and when a watch is lost. */
  constructor(
    private readonly watches: FileWatches,
    private readonly root: string,
    readonly changed: () => void,
  ) {}

  /** Whether every change is told. Otherwise who wants to know of all has to look often. */
  get complete(): boolean {
    if (this.#partial || this.#followed.size < this.#wanted.size) return false;
    for (const at of this.#followed) if (!this.watches.tells(at)) return false;
    return true;
  }

  /** Who gives up the watch tells of it once it has given up all. */
  lost(at: string): void {
    this.#followed.delete(at);
  }

  /**
   * Watches these directories, those of files within the root, those beside it in which something may appear, and other files by themselves, from now on; what
   * is gone is given up. The directories around the root are nobody's: they may hold all cities. True when something is watched that was not before: it may
   * have changed since it was read.
   */
  follow({ directories, files, missing, links }: ReadPaths): boolean {
    const wanted = new Set([this.root]);
    let partial = links;
    const add = (at: string): void => {
      if (wanted.has(at)) return;
      if (wanted.size < MAX_PATHS && !at.split(path.sep).some((part) => IGNORED.has(part))) wanted.add(at);
      else partial = true;
    };
    const isInside = (at: string): boolean => at === this.root || at.startsWith(`${this.root}${path.sep}`);
    directories.forEach(add);
    for (const at of missing) {
      // Also the folder of a rig that lies beside the city.
      if (isInside(at) || !this.root.startsWith(`${at}${path.sep}`)) add(at);
      else if (!wanted.has(at)) partial = true;
    }
    for (const at of files) {
      const directory = path.dirname(at);
      if (!wanted.has(directory)) add(isInside(at) ? directory : at);
    }
    this.#wanted = wanted;
    this.#partial = partial;
    // Of what lies in a directory that is watched, that one tells.
    for (const at of this.#followed) if (!this.#followed.has(path.dirname(at))) this.watches.verify(at);
    for (const at of this.#followed) {
      if (wanted.has(at)) continue;
      this.#followed.delete(at);
      this.watches.remove(at, this);
    }
    return this.renew();
  }

  /** Takes up again what was lost, because another directory has come to its place, or for want of watches. True when that was anything. */
  renew(): boolean {
    if (this.#followed.size === this.#wanted.size) return false;
    const before = this.#followed.size;
    for (const at of this.#wanted) if (!this.#followed.has(at) && this.watches.add(at, this)) this.#followed.add(at);
    return this.#followed.size > before;
  }

  close(): void {
    for (const at of this.#followed) this.watches.remove(at, this);
    this.#followed.clear();
    this.#wanted = new Set();
    this.#partial = true;
  }
}
