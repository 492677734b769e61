import { createHash } from 'node:crypto';
import path from 'node:path';
import { z } from 'zod';
import { DiskTree } from '../trees/disk-tree.js';
import { TreeFailure } from '../trees/file-tree.js';
import { Ledger } from '../trees/ledger.js';

/** The directory of the cities root that holds what was fetched; all replicas share it. */
export const STORE_DIRECTORY = '.packs';
const MANIFEST = 'manifest.json';
const TREE = 'tree';

const Manifest = z.strictObject({ url: z.string(), commit: z.string(), digest: z.string() });

/** What lies beside a checkout and says what it has to be. */
export type Manifest = z.infer<typeof Manifest>;

/** Where one commit of one repository lies: the name says what is in it, so two who fetch it do the same. */
export function checkoutDirectory(citiesRoot: string, url: string, commit: string): string {
  const key = createHash('sha256').update(`${url}\0${commit}`).digest('hex');
  return path.join(citiesRoot, STORE_DIRECTORY, key);
}

export function treeOfCheckout(directory: string): string {
  return path.join(directory, TREE);
}

export function manifestOfCheckout(directory: string): string {
  return path.join(directory, MANIFEST);
}

/** One digest of all files of a checkout. @throws TreeFailure when there are too many or some lead outside */
export async function contentDigest(tree: DiskTree): Promise<string> {
  const hash = createHash('sha256');
  for (const [name, sha256] of await tree.digests('')) hash.update(`${name}\0${sha256}\0`);
  return hash.digest('hex');
}

/** Why a checkout cannot be used: `absent` when it was never fetched, else in words; undefined when it is as it was fetched. */
export async function faultOf(directory: string, url: string, commit: string, ledger = new Ledger()): Promise<string | undefined> {
  try {
    const text = await new DiskTree(directory, '', ledger).read(MANIFEST);
    if (text === undefined) return ABSENT;
    const manifest = manifestIn(text);
    if (manifest === undefined) return 'what says how it was fetched is damaged';
    if (manifest.url !== url || manifest.commit !== commit) return 'it is the checkout of something else';
    const digest = await contentDigest(new DiskTree(treeOfCheckout(directory), '', ledger));
    return digest === manifest.digest ? undefined : 'its files are not those that were fetched';
  } catch (error) {
    if (error instanceof TreeFailure && !error.transient) return `${error.path}: ${error.message}`;
    throw error;
  }
}

export const ABSENT = 'absent';

function manifestIn(text: string): Manifest | undefined {
  try {
    return Manifest.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
