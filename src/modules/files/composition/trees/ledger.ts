import { createHash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { lstat, realpath } from 'node:fs/promises';
import { atOnce } from '../../../../platform/time/at-once.js';

/**
 * File systems stamp changes with a clock that ticks every few milliseconds: two writes within a tick look the same. What
 * was changed this recently when it was read is compared by content instead.
 */
const SETTLED_MS = 50;
const CONCURRENCY = 16;

/** Changes whenever a file or directory does; a time that somebody set back is caught by the time of that act. */
export function stampOf(found: BigIntStats): string {
  return `${found.ino}:${found.size}:${found.mtimeNs}:${found.ctimeNs}`;
}

/** `false` when another change right now might leave the stamp as it is. */
export function isSettled(found: BigIntStats, now = Date.now()): boolean {
  const age = now - Number(found.ctimeNs / 1_000_000n);
  return age > SETTLED_MS || age < -SETTLED_MS;
}

type Seen =
  | { readonly kind: 'absent' }
  | { readonly kind: 'link'; readonly to: string }
  | { readonly kind: 'entry'; readonly directory: boolean; readonly stamp: string; readonly again?: () => Promise<boolean> };

/**
 * What a reading of files saw: every file, directory and link on the way, and what was looked for and was not there.
 * Asking whether any of it changed costs one `stat` each. Several trees may share one ledger.
 */
export class Ledger {
  readonly #seen = new Map<string, Seen>();

  /** How many paths it watches over. */
  get size(): number {
    return this.#seen.size;
  }

  /** Absolute paths of what was read. */
  paths(): { readonly directories: string[]; readonly files: string[] } {
    const [directories, files]: [string[], string[]] = [[], []];
    for (const [at, seen] of this.#seen) if (seen.kind === 'entry') (seen.directory ? directories : files).push(at);
    return { directories, files };
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

  /** `true` when reading again might see something else. Never fails: what cannot be looked at has changed. */
  async changed(): Promise<boolean> {
    let differs = false;
    await atOnce(CONCURRENCY, this.#seen, async ([at, seen]) => {
      if (!differs && !(await isStill(at, seen))) differs = true;
    });
    return differs;
  }

  /** Of two sights of one path the first counts, so that a change between them shows. */
  noteAbsent(at: string): void {
    if (!this.#seen.has(at)) this.#seen.set(at, { kind: 'absent' });
  }

  noteLink(at: string, to: string): void {
    if (!this.#seen.has(at)) this.#seen.set(at, { kind: 'link', to });
  }

  /** @param again tells whether the content is still the same, for an entry whose stamp is not settled. */
  noteEntry(at: string, found: BigIntStats, again: () => Promise<boolean>): void {
    if (this.#seen.has(at)) return;
    const entry = { kind: 'entry', directory: found.isDirectory(), stamp: stampOf(found) } as const;
    this.#seen.set(at, isSettled(found) ? entry : { ...entry, again });
  }
}

async function isStill(at: string, seen: Seen): Promise<boolean> {
  try {
    if (seen.kind === 'link') return (await realpath(at)) === seen.to;
    const found = await lstat(at, { bigint: true });
    if (seen.kind === 'absent') {
      // A link to nowhere is as absent as before.
      await realpath(at);
      return false;
    }
    return stampOf(found) === seen.stamp && (seen.again === undefined || (await seen.again()));
  } catch {
    return seen.kind === 'absent';
  }
}
