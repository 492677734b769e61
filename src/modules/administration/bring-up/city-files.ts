import { createHash } from 'node:crypto';
import { DiskTree } from '../../files/composition/trees/disk-tree.js';

const FILES = ['city.toml', 'pack.toml', 'packs.lock', '.gc/site.toml'];
const FOLDERS = ['agents', 'formulas', 'orders', 'packs', 'prompts', 'site', 'template-fragments'];

/**
 * A hash of what initializing a city reads: it changes when a failed city is worth another try. Never fails; what cannot be
 * read goes in as such.
 */
export async function configHash(dir: string): Promise<string> {
  const tree = new DiskTree(dir);
  const hash = createHash('sha256');
  const add = (name: string, content: string | undefined): void =>
    void hash.update(`${name}\0${content === undefined ? '-' : `+${content}`}\0`);
  for (const file of FILES) add(file, await tree.read(file).catch(String));
  for (const folder of FOLDERS) {
    const found = await tree.digests(folder).catch((error: unknown) => [[folder, String(error)]] as const);
    for (const [file, digest] of found) add(file, digest);
  }
  return hash.digest('hex');
}
