import { createHash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import path from 'node:path';
import { digestOf } from '../../files/composition/compose/convention-overlays.js';
import { builtinPacksDirectory } from '../../files/composition/packs/builtin.js';
import { checkoutDirectory, treeOfCheckout } from '../../files/composition/packs/checkouts.js';
import { isOfAnotherCity } from '../../files/composition/packs/homes.js';
import { readLock } from '../../files/composition/packs/lock.js';
import { bareAddress, parseSource } from '../../files/composition/packs/sources.js';
import { DiskTree } from '../../files/composition/trees/disk-tree.js';
import { TreeFailure } from '../../files/composition/trees/file-tree.js';
import { isBelow } from '../../files/composition/trees/paths.js';
import type { Roots } from './work-dir.js';

/**
 * The text of a file of the city or of one of its packs, by the name that the composed configuration has for it; undefined
 * when it is not there. Where a name can be read in two ways, the file that was composed counts: its digest tells.
 */
export async function readNamedFile(name: string, contents: Readonly<Record<string, string>>, roots: Roots): Promise<string | undefined> {
  let fallback: string | undefined;
  for await (const text of readings(name, roots)) {
    if (text === undefined) continue;
    if (contents[name] === createHash('sha256').update(text).digest('hex')) return text;
    // The files have changed since: what they say now is better than nothing.
    fallback ??= text;
  }
  return fallback;
}

/** The city's own file first, then a pack's. */
async function* readings(name: string, roots: Roots): AsyncGenerator<string | undefined> {
  for await (const { directory, within, path: file } of locations(name, roots))
    yield read(new DiskTree(directory, '', undefined, within === undefined ? {} : { within }), file);
}

interface Location {
  readonly directory: string;
  /** Inside which links may lead; the directory itself when absent. */
  readonly within?: string | undefined;
  readonly path: string;
}

/** All that a name can mean: a path in the city, or `<pack>:<path>`, where both may have colons. */
async function* locations(name: string, roots: Roots): AsyncGenerator<Location> {
  yield { directory: roots.cityPath, path: name };
  for (let at = name.indexOf(':'); at !== -1; at = name.indexOf(':', at + 1)) {
    const root = await directoryOf(name.slice(0, at), roots);
    if (root !== undefined) yield { ...root, path: name.slice(at + 1) };
  }
}

/** The directories outside of the city that the packs of these names lie in: for a repository all of its checkout. Real paths. */
export async function packDirectories(names: Iterable<string>, roots: Roots): Promise<string[]> {
  const ids = new Set<string>();
  for (const name of names) for (let at = name.indexOf(':'); at !== -1; at = name.indexOf(':', at + 1)) ids.add(name.slice(0, at));
  const found = new Set<string>();
  for (const id of ids) {
    const root = await directoryOf(id, roots);
    // Whoever writes the city may have put a link to another city in the place of what was looked at.
    if (root !== undefined) found.add(root.isReal ? root.within : await realpath(root.within).catch(() => root.within));
  }
  return [...found];
}

/**
 * Where a folder or a file lies that a composed configuration names, as a real path; undefined when it is not there, or
 * leads out of the city or the pack. A pack's comes before one of the city that looks like it.
 */
export async function locateNamed(name: string, roots: Roots): Promise<string | undefined> {
  const found: Location[] = [];
  for await (const location of locations(name, roots)) found.unshift(location);
  for (const { directory, within = directory, path: inside } of found) {
    const [root, real] = await Promise.all([within, path.join(directory, inside)].map((at) => realpath(at).catch(() => undefined)));
    if (root !== undefined && real !== undefined && (real === root || isBelow(root, real))) return real;
  }
  return undefined;
}

/**
 * The files of a folder with their digests, by their paths in it: of all folders of that name the one with this digest, if
 * any; empty when there is none.
 *
 * @throws TreeFailure when one of them has something in it that may not be read
 */
export async function filesOfNamed(name: string, sha256: string | undefined, roots: Roots): Promise<readonly NamedFile[]> {
  let fallback: readonly NamedFile[] = [];
  for await (const { directory, within, path: folder } of locations(name, roots)) {
    const files = await new DiskTree(directory, '', undefined, within === undefined ? {} : { within }).digests(folder);
    const inside = files.map(([file, digest]) => ({
      path: folder === '.' ? file : file.slice(folder.length + 1),
      source: path.join(directory, file),
      sha256: digest,
    }));
    if (sha256 !== undefined && digestOf(files) === sha256) return inside;
    if (fallback.length === 0) fallback = inside;
  }
  return fallback;
}

export interface NamedFile {
  readonly path: string;
  /** Absolute. */
  readonly source: string;
  readonly sha256: string;
}

async function read(tree: DiskTree, file: string): Promise<string | undefined> {
  try {
    return await tree.read(file);
  } catch (error) {
    if (error instanceof TreeFailure && !error.transient) return undefined;
    throw error;
  }
}

/** Where a pack lies, by its id. */
async function directoryOf(
  id: string,
  { cityPath, citiesRoot, isOthers }: Roots,
): Promise<{ directory: string; within: string; isReal: boolean } | undefined> {
  if (id.startsWith('builtin:')) {
    const directory = path.resolve(builtinPacksDirectory(), id.slice('builtin:'.length));
    return isBelow(builtinPacksDirectory(), directory) ? { directory, within: directory, isReal: false } : undefined;
  }
  const [, repository, commit, folder = ''] = /^(.+)@([0-9a-f]{12})(?:\/\/(.+))?$/s.exec(id) ?? [];
  if (repository !== undefined) {
    for (const [source, pin] of await readLock(new DiskTree(cityPath), [])) {
      const parsed = parseSource(source);
      if (parsed.kind !== 'repository' || bareAddress(parsed.url) !== repository || !pin.commit.startsWith(commit!)) continue;
      const tree = treeOfCheckout(checkoutDirectory(citiesRoot, parsed.url, pin.commit));
      const directory = path.resolve(tree, folder);
      if (directory === tree || isBelow(tree, directory)) return { directory, within: tree, isReal: false };
    }
    return undefined;
  }
  const [city, root, directory] = await Promise.all(
    [cityPath, citiesRoot, path.resolve(cityPath, id)].map((at) => realpath(at).catch(() => undefined)),
  );
  if (city === undefined || root === undefined || directory === undefined) return undefined;
  // A city may have been made there since the configuration was composed.
  if (!isBelow(root, directory) || (await isOfAnotherCity(directory, city, root))) return undefined;
  const isOutside = directory !== city && !isBelow(city, directory);
  return isOutside && (await isOthers?.(directory)) === true ? undefined : { directory, within: directory, isReal: true };
}
