import { createHash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { opendir, readdir } from 'node:fs/promises';
import { processPlaces } from '../../../../platform/disk/disk-places.js';
import { FOLDER, throughHandle } from '../../../../platform/runtime/preparation/held-folder.js';
import { openAt } from './file-content.js';
import { type TreeEntry, TreeFailure } from './file-tree.js';

const MAX_ENTRIES = 2_000;
/** A directory that takes more room than this is read in pieces, so that its entries can be counted on the way. */
const SMALL_DIRECTORY_BYTES = 256 * 1024;

export interface DiskEntry extends TreeEntry {
  readonly isLink: boolean;
}

export interface Listed {
  /** The directory's state just before it was listed. */
  readonly found: BigIntStats;
  /** By the clock, before it was listed. */
  readonly foundAt: number;
  readonly entries: DiskEntry[];
}

/** Names that an edit is about to put into a directory, and to take out of it. */
export interface Change {
  readonly added: ReadonlySet<string>;
  readonly removed: ReadonlySet<string>;
}

const NOTHING: Change = { added: new Set(), removed: new Set() };

/**
 * Everything in a directory, sorted by name, links as such.
 *
 * @param at its real path. @param name what a failure calls it. @param change with which it may hold so much, and no more
 * @param failed hears of its state before it was listed, where there is too much
 * @throws TreeFailure when there is too much, or it lies behind a link by now
 */
export function readEntries(at: string, name: string, change = NOTHING, failed?: (found: BigIntStats) => void): Promise<Listed> {
  return processPlaces.run(at, () => readAt(at, name, change, failed));
}

async function readAt(at: string, name: string, change: Change, failed?: (found: BigIntStats) => void): Promise<Listed> {
  const handle = await openAt(at, name, FOLDER);
  try {
    const found = await handle.stat({ bigint: true });
    const foundAt = Date.now();
    try {
      return { found, foundAt, entries: await entriesOf(throughHandle(handle, at), name, Number(found.size), change) };
    } catch (error) {
      failed?.(found);
      throw error;
    }
  } finally {
    await handle.close();
  }
}

async function entriesOf(at: string, name: string, bytes: number, { added, removed }: Change): Promise<DiskEntry[]> {
  const entries: DiskEntry[] = [];
  const found = bytes > SMALL_DIRECTORY_BYTES ? await opendir(at, { bufferSize: 256 }) : await readdir(at, { withFileTypes: true });
  let count = added.size;
  for await (const entry of found) {
    if (!added.has(entry.name) && !removed.has(entry.name)) count++;
    if (count > MAX_ENTRIES) throw new TreeFailure(name, `it holds more than ${MAX_ENTRIES} entries`);
    // Devices and pipes count as files: reading them is what is refused.
    entries.push({ name: entry.name, kind: entry.isDirectory() ? 'directory' : 'file', isLink: entry.isSymbolicLink() });
  }
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Equal for the same names of the same kinds. */
export function digestOf(entries: readonly DiskEntry[]): string {
  const hash = createHash('sha256');
  for (const { name, kind, isLink } of entries) hash.update(`${name}\0${kind}${isLink ? ' link' : ''}\0`);
  return hash.digest('hex');
}
