import { createHash } from 'node:crypto';
import { lstatSync, type BigIntStats } from 'node:fs';
import path from 'node:path';
import { processPlaces } from '../../../../platform/disk/disk-places.js';
import { atOnce } from '../../../../platform/time/at-once.js';
import { digestOf, readEntries } from './directory-entries.js';
import { readContent } from './file-content.js';
import { lstat, realpath, realpathTo, turnForLook } from './placed.js';

/**
 * File systems stamp changes with a clock that ticks every few milliseconds: two writes within a tick look the same. What
 * was changed this recently when it was read is compared by content instead.
 */
const SETTLED_MS = 50;
/** Where it counts in seconds, or in two. */
const SETTLED_COARSE_MS = 5_000;
const CONCURRENCY = 16;

/** Changes whenever a file or directory does; a time that somebody set back is caught by the time of that act. */
export function stampOf(found: BigIntStats): string {
  return `${found.ino}:${found.size}:${found.mtimeNs}:${found.ctimeNs}`;
}

/**
 * `false` when another change might leave the stamp as it is.
 *
 * @param now when what it stands for was not read yet: a change while that was read, however long it took, would be taken for what was read.
 */
export function isSettled({ ctimeNs }: Pick<BigIntStats, 'ctimeNs'>, now: number): boolean {
  const age = now - Number(ctimeNs / 1_000_000n);
  const settledMs = ctimeNs % 1_000_000_000n === 0n ? SETTLED_COARSE_MS : SETTLED_MS;
  return age > settledMs || age < -settledMs;
}

type Seen =
  | { readonly kind: 'absent' }
  | { readonly kind: 'link'; readonly to: string }
  /** `content` is its digest, of one whose stamp was not settled. */
  | { readonly kind: 'entry'; readonly directory: boolean; readonly stamp: string; content?: string };

/** Where changes of what was read show. */
export interface ReadPaths {
  readonly directories: readonly string[];
  readonly files: readonly string[];
  /** Directories in which what was not there would appear. */
  readonly missing: readonly string[];
  /** Something was reached through a link, which may come to lead elsewhere while nothing changes at either end. */
  readonly links: boolean;
}

const ABSENT: Seen = { kind: 'absent' };
/** A path and what was seen there, as it is stored. */
type Line = readonly [at: string, kind: 'a' | 'l' | 'd' | 'f', what?: string, content?: string];
type Sight = readonly [at: string, seen: Seen];

/** So many paths are remembered that may be in the next ledger too. */
const REMEMBERED = 1_000;
/** What was seen last in ledgers that were stored, by path. */
const remembered = new Map<string, Sight>();

/** What many cities have read is in memory once: of 35 paths of a small city 22 are those of the packs that are shipped. */
function once(at: string, seen: Seen): Sight {
  if (seen.kind !== 'entry' || seen.content !== undefined) return [at, seen];
  const known = remembered.get(at);
  const before = known?.[1];
  const isSame = before?.kind === 'entry' && before.stamp === seen.stamp && before.directory === seen.directory;
  const sight: Sight = known !== undefined && isSame ? known : [at, seen];
  // Behind all others: what is used stays.
  remembered.delete(at);
  remembered.set(sight[0], sight);
  if (remembered.size > REMEMBERED) remembered.delete(remembered.keys().next().value!);
  return sight;
}

/**
 * What a reading of files saw: every file, directory and link on the way, and what was looked for and was not there.
 * Asking whether any of it changed costs one `stat` each. Several trees may share one ledger.
 */
export class Ledger {
  readonly #seen = new Map<string, Seen>();

  /** @param basis what else the reading depended on, in one line. */
  constructor(private readonly basis = '') {}

  /** One that was stored; undefined when its basis was another. */
  static from(text: string, basis: string): Ledger | undefined {
    if (!text.startsWith(`${basis}\n`)) return undefined;
    const ledger = new Ledger(basis);
    for (const [at, kind, what, content] of JSON.parse(text.slice(basis.length)) as Line[]) {
      const entry = { kind: 'entry', directory: kind === 'd', stamp: what! } as const;
      const seen: Seen = kind === 'a' ? ABSENT : kind === 'l' ? { kind: 'link', to: what! } : entry;
      ledger.#seen.set(...once(at, content === undefined ? seen : { ...entry, content }));
    }
    return ledger;
  }

  /** All of it, for another process to go on with. */
  toText(): string {
    const line = (at: string, seen: Seen): Line => {
      if (seen.kind === 'absent') return [at, 'a'];
      if (seen.kind === 'link') return [at, 'l', seen.to];
      const { directory, stamp, content } = seen;
      return content === undefined ? [at, directory ? 'd' : 'f', stamp] : [at, directory ? 'd' : 'f', stamp, content];
    };
    return `${this.basis}\n${JSON.stringify(Array.from(this.#seen, ([at, seen]) => line(at, seen)))}`;
  }

  /** How many paths it watches over. */
  get size(): number {
    return this.#seen.size;
  }

  /** Absolute paths of what was read. */
  paths(): ReadPaths {
    const read = { directories: new Array<string>(), files: new Array<string>(), missing: new Array<string>(), links: false };
    for (const [at, seen] of this.#seen) {
      if (seen.kind === 'entry') (seen.directory ? read.directories : read.files).push(at);
      else if (seen.kind === 'link') read.links = true;
      else if (this.#seen.get(path.dirname(at))?.kind !== 'absent') read.missing.push(path.dirname(at));
    }
    return read;
  }

  /** Equal for two readings that saw the same state of the same files. */
  signature(): string {
    const hash = createHash('sha256');
    for (const at of [...this.#seen.keys()].sort()) {
      const seen = this.#seen.get(at)!;
      hash.update(`${at}\0${seen.kind}\0${seen.kind === 'entry' ? seen.stamp : seen.kind === 'link' ? seen.to : ''}\0`);
    }
    return hash.digest('hex');
  }

  /**
   * `true` when reading again might see something else. Never fails: what cannot be looked at has changed.
   *
   * @param most threads are asked for so many paths at a time.
   */
  async changed(most = CONCURRENCY): Promise<boolean> {
    let differs = false;
    await atOnce(most, await this.#doubtful(), async ([at, seen]) => {
      if (!differs && !(await isStill(at, seen))) differs = true;
    });
    return differs;
  }

  /** Without those at hand whose stamp, or absence, says that they are the same. */
  async #doubtful(): Promise<[at: string, seen: Seen][]> {
    const doubtful: [at: string, seen: Seen][] = [];
    for (const [at, seen] of this.#seen) {
      await turnForLook();
      if (!isPlainlyStill(at, seen)) doubtful.push([at, seen]);
    }
    return doubtful;
  }

  /** Of two sights of one path the first counts, so that a change between them shows. */
  noteAbsent(at: string): void {
    if (!this.#seen.has(at)) this.#seen.set(at, ABSENT);
  }

  noteLink(at: string, to: string): void {
    if (!this.#seen.has(at)) this.#seen.set(at, { kind: 'link', to });
  }

  /**
   * @param digest of what was read of it, where more than its being there counts.
   * @param foundAt by the clock, before it was read.
   */
  noteEntry(at: string, found: BigIntStats, digest?: () => string, foundAt = Date.now()): void {
    if (this.#seen.has(at)) return;
    const entry = { kind: 'entry', directory: found.isDirectory(), stamp: stampOf(found) } as const;
    this.#seen.set(at, digest === undefined || isSettled(found, foundAt) ? entry : { ...entry, content: digest() });
  }
}

function isPlainlyStill(at: string, seen: Seen): boolean {
  if (seen.kind === 'link' || !processPlaces.isAtHand(at)) return false;
  try {
    const found = lstatSync(at, { bigint: true, throwIfNoEntry: false });
    if (found === undefined) return seen.kind === 'absent';
    return seen.kind === 'entry' && seen.content === undefined && stampOf(found) === seen.stamp;
  } catch {
    return false;
  }
}

async function isStill(at: string, seen: Seen): Promise<boolean> {
  try {
    if (seen.kind === 'link') return (await realpathTo(at, seen.to)) === seen.to;
    const found = await lstat(at);
    if (seen.kind === 'absent') {
      // A link to nowhere is as absent as before.
      await realpath(at);
      return false;
    }
    if (stampOf(found) !== seen.stamp) return false;
    if (seen.content === undefined) return true;
    const settled = isSettled(found, Date.now());
    if ((await contentAt(at, found)) !== seen.content) return false;
    // From now on a change would change the stamp.
    if (settled) delete seen.content;
    return true;
  } catch {
    return seen.kind === 'absent';
  }
}

async function contentAt(at: string, found: BigIntStats): Promise<string> {
  if (found.isDirectory()) return digestOf((await readEntries(at, at)).entries);
  return (await readContent(at, at, Number(found.size), false)).sha256;
}
