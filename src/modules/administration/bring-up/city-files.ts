import { createHash } from 'node:crypto';
import { LIMITS } from '../../files/composition/compose/limits.js';
import { DiskTree } from '../../files/composition/trees/disk-tree.js';
import type { Allowance } from '../../files/composition/trees/file-tree.js';

const FILES = ['city.toml', 'pack.toml', 'packs.lock', '.gc/site.toml'];
const FOLDERS = ['agents', 'formulas', 'orders', 'packs', 'prompts', 'site', 'template-fragments'];
/** Packs are the most: where there is too much of them, all others count nevertheless. */
const READ = [...FOLDERS.filter((folder) => folder !== 'packs'), 'packs'];

/** As much as composing reads, of all folders together. */
const MOST: Readonly<Allowance> = { files: LIMITS.digested, bytes: LIMITS.bytes };

/**
 * A hash of what initializing a city reads: it changes when a failed city is worth another try. Never fails for the files; what cannot be
 * read goes in as such, and so does that there is more than composing reads.
 *
 * @throws why `signal` aborts
 */
export async function configHash(dir: string, signal?: AbortSignal, most = MOST): Promise<string> {
  const tree = new DiskTree(dir);
  const hash = createHash('sha256');
  const add = (name: string, content: string | undefined): void =>
    void hash.update(`${name}\0${content === undefined ? '-' : `+${content}`}\0`);
  for (const file of FILES) add(file, await tree.read(file).catch(String));
  const allowance = { ...most };
  const entries = new Map<string, readonly (readonly [string, string | undefined])[]>();
  for (const folder of READ) {
    signal?.throwIfAborted();
    const found = await tree.digests(folder, allowance).catch((error: unknown) => [[folder, String(error)]] as const);
    const isOver = allowance.files < 0 || allowance.bytes < 0;
    // Files are looked at side by side: which bound is met first, and at which of them, is not always the same.
    entries.set(folder, isOver ? [[folder, 'too much']] : [...found]);
    if (isOver) break;
  }
  // In an order that stays: a worker of the release before compares this with its own.
  for (const folder of FOLDERS) for (const [file, digest] of entries.get(folder) ?? []) add(file, digest);
  return hash.digest('hex');
}
