import { lstat, mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { FILE } from '../../../platform/isolation/held.js';
import { inFolderOf } from '../../../platform/runtime/preparation/held-folder.js';
import { removePlace, removeTree } from '../../../platform/runtime/preparation/remove-tree.js';
import { StartError } from '../../../platform/runtime/port.js';
import { errnoOf } from '../../files/composition/trees/paths.js';
import { makeDirectory, missingIn, removeEmpty, rigPlace, type Roots } from './rig-place.js';
import type { Manifest } from './rig-provisions.repository.js';

/** Where clones are made before they take their place; never looked at as configuration. */
const WORKSHOP = ['.gc', 'cache', 'rigs'];
/** Inside a clone: says which operation put it there, so that only that one takes it back. */
const MARK = ['.git', 'svc-provision'] as const;
/** Also where a pipe or a link has taken the place of a file. */
const AS_TEXT = { encoding: 'utf8', flag: FILE } as const;

/** The place that a clone shall have is somebody else's. */
export class PlaceTaken extends Error {
  override readonly name = 'PlaceTaken';
}

/** What will be made for a rig at `directory`. */
export async function manifestFor(directory: string): Promise<Manifest> {
  const missing = await missingIn(directory);
  return { target: directory, existed: missing.length === 0, parents: missing.slice(0, -1) };
}

/** Where one attempt alone lets git make the clone; nothing is there. Other attempts at the operation may still write into theirs. */
export async function workshopFor(roots: Roots, operationId: string, fence: number): Promise<string> {
  const at = path.join(await openWorkshop(roots.city), `${operationId}.${fence}`);
  await removeTree(at);
  return at;
}

/** Moves a clone to its place, which is missing or empty. @throws PlaceTaken */
export async function takePlace(clone: string, { target, parents }: Manifest, operationId: string, roots: Roots): Promise<void> {
  await setMark(clone, operationId);
  const made = await makeDirectory(path.dirname(target));
  try {
    // Whoever changes a directory above into a link, before or after this look, does not get the clone elsewhere.
    await inFolderOf(target, async (place) => {
      const { directory } = await rigPlace(target, roots);
      if (directory !== target) throw new PlaceTaken('its path leads elsewhere by now');
      await rename(clone, place);
    });
  } catch (error) {
    await removeEmpty(made.filter((at) => parents.includes(at)));
    if (error instanceof StartError) throw new PlaceTaken('its path leads elsewhere by now', { cause: error });
    const code = errnoOf(error);
    if (code === 'ENOTEMPTY' || code === 'EEXIST' || code === 'ENOTDIR')
      throw new PlaceTaken('its directory is not empty', { cause: error });
    throw error;
  }
}

/** True when the clone of this operation is in its place, and not behind a link. */
export async function isInPlace({ target }: Manifest, operationId: string): Promise<boolean> {
  return inFolderOf(path.join(target, ...MARK), (mark) => isMarked(mark, operationId)).catch(() => false);
}

/** True when nothing but an empty directory is at the place. */
export async function isFree({ target }: Manifest): Promise<boolean> {
  try {
    return (await readdir(target)).length === 0;
  } catch (error) {
    return errnoOf(error) === 'ENOENT';
  }
}

/** Ends the right to take the clone back. */
export async function unmark({ target }: Manifest): Promise<void> {
  await inFolderOf(path.join(target, ...MARK), (mark) => rm(mark, { force: true })).catch((error: unknown) => {
    if (!(error instanceof StartError) && errnoOf(error) !== 'ENOENT') throw error;
  });
}

/** Removes everything that an operation has made, and nothing that was there before. Can be repeated. */
export async function takeBack(city: string, operationId: string, manifest: Manifest | null): Promise<void> {
  const workshop = await findWorkshop(city);
  for (const name of workshop === undefined ? [] : await readdir(workshop))
    if (name.startsWith(`${operationId}.`)) await removeTree(path.join(workshop!, name));
  if (manifest === null) return;
  if (await isInPlace(manifest, operationId))
    await inFolderOf(manifest.target, async (place) => {
      if (!(await isMarked(path.join(place, ...MARK), operationId))) return;
      // First out of the way in one step: whoever looks meanwhile finds all of it or nothing.
      await inFolderOf(path.join(await openWorkshop(city), `${operationId}.back`), async (aside) => {
        await rename(place, aside);
        if (manifest.existed) await mkdir(place).catch(() => undefined);
        await removePlace(aside);
      });
    });
  await removeEmpty(manifest.parents);
}

/** Agents of the city may already write where a clone is made. */
async function setMark(clone: string, operationId: string): Promise<void> {
  await inFolderOf(path.join(clone, ...MARK), async (mark) => {
    await rm(mark, { force: true });
    await writeFile(mark, operationId, { flag: 'wx' });
  });
}

async function isMarked(mark: string, operationId: string): Promise<boolean> {
  try {
    const found = await lstat(mark);
    return found.isFile() && found.size === Buffer.byteLength(operationId) && (await readFile(mark, AS_TEXT)) === operationId;
  } catch {
    return false;
  }
}

/** The workshop of a city, made when it is not there. @throws Error when links lead out of the city */
async function openWorkshop(city: string): Promise<string> {
  let at = city;
  for (const part of WORKSHOP) {
    at = path.join(at, part);
    await mkdir(at).catch((error: unknown) => {
      if (errnoOf(error) !== 'EEXIST') throw error;
    });
    if (!(await isDirectory(at))) throw new Error(`${path.relative(city, at)} is not a directory of the city`);
  }
  return at;
}

async function findWorkshop(city: string): Promise<string | undefined> {
  let at = city;
  for (const part of WORKSHOP) if (!(await isDirectory((at = path.join(at, part))))) return undefined;
  return at;
}

/** A directory itself, not a link to one. */
async function isDirectory(at: string): Promise<boolean> {
  return lstat(at).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
