import { lstat, mkdir, realpath, rmdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { problem } from '../../../contract/problems.js';
import { errnoOf, isBelow } from '../../files/composition/trees/paths.js';
import { RigRoots, type RigRootsConfig } from '../../files/directories/rig-roots.js';
import { notYours } from '../../files/directories/not-yours.js';

/** Where a rig lies. */
export interface RigPlace {
  /** As the files say it: relative to the city, or absolute when it lies outside of it. */
  readonly path: string;
  /** The directory itself, links resolved; it may not exist yet. */
  readonly directory: string;
}

export interface Roots extends RigRootsConfig {
  /** The city's directory, links resolved. */
  readonly city: string;
  /** For who may not see what lies outside of the city: whether a directory there may be named all the same. */
  readonly mayName?: ((directory: string) => Promise<boolean>) | undefined;
}

const MAX_DEPTH = 32;
const MAX_COMPONENT_BYTES = 255;
/** Directories that belong to something else. */
const RESERVED = new Set(['.gc', '.git', '.beads', '.packs']);
const DISK_ERRORS = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'EDQUOT', 'EIO', 'ESTALE']);

/**
 * The directory that `given` means: below the city, or elsewhere below the cities root or where the operator allows it, but in no other
 * city, whatever `..` and symbolic links say.
 *
 * @throws ProblemError invalid_request when it leads elsewhere or is no path, forbidden when it may not be named: then nothing
 * outside of the city has been looked at
 */
export async function rigPlace(given: string, roots: Roots): Promise<RigPlace> {
  if (given.includes('\0') || !given.isWellFormed()) throw invalid('it has characters that no path can have');
  const places = await RigRoots.of(roots);
  const wanted = places.respelled(path.resolve(roots.city, given));
  await requireNamed(wanted, roots);
  // Before the disk is asked: of 2,000 parts that are not there it would be asked for each.
  checkParts(wanted, roots, places);
  const directory = await canonical(wanted, roots, places);
  await requireNamed(directory, roots);
  checkParts(directory, roots, places);
  await requireNoOtherCity(directory, places, roots.city);
  return { path: isBelow(roots.city, wanted) ? path.relative(roots.city, wanted) : wanted, directory };
}

/** The directories of a path that are not there yet, from the outermost in. */
export async function missingIn(directory: string): Promise<string[]> {
  const missing: string[] = [];
  for (let at = directory; !(await exists(at)); at = path.dirname(at)) missing.unshift(at);
  return missing;
}

/** Makes the directory; answers those that were made, from the outermost in. @throws ProblemError dependency_missing */
export async function makeDirectory(directory: string): Promise<string[]> {
  const missing = await missingIn(directory);
  const made: string[] = [];
  try {
    for (const at of missing) {
      await mkdir(at, { mode: 0o755 }).then(
        () => made.push(at),
        (error: unknown) => {
          // Somebody else was faster: then it is theirs.
          if (errnoOf(error) !== 'EEXIST') throw error;
        },
      );
    }
    if ((await realpath(directory)) !== directory) throw invalid('it changed while it was made');
    return made;
  } catch (error) {
    await removeEmpty(made);
    throw diskProblem(error);
  }
}

/** Takes back directories that nobody has put anything into. */
export async function removeEmpty(made: readonly string[]): Promise<void> {
  for (const at of [...made].reverse()) await rmdir(at).catch(() => undefined);
}

/** A failure of the disk in the words of the contract; others stay as they are. */
function diskProblem(error: unknown): unknown {
  const code = errnoOf(error);
  if (code === undefined || !DISK_ERRORS.has(code)) return error;
  return problem('dependency_missing', `the rig's directory cannot be written: ${code}`, { cause: error });
}

/** @throws ProblemError invalid_request for a path that no rig may have, whatever is there */
function checkParts(at: string, { city }: Roots, places: RigRoots): void {
  const root = places.of(at);
  if (at === city || root === undefined) throw escapes(city);
  const from = isBelow(city, at) ? city : root;
  const parts = path.relative(from, at).split(path.sep);
  if (parts.length > MAX_DEPTH) throw invalid(`it lies more than ${MAX_DEPTH} directories deep`);
  if (parts.some((part) => RESERVED.has(part.toLowerCase()))) throw invalid('it lies in a directory that belongs to something else');
  if (parts.some((part) => Buffer.byteLength(part) > MAX_COMPONENT_BYTES)) throw invalid('a part of it is longer than 255 bytes');
}

/** Resolves every link on the way; the part that does not exist yet is kept as it is. What lies outside is not looked at. */
async function canonical(wanted: string, roots: Roots, places: RigRoots): Promise<string> {
  const missing: string[] = [];
  let at = wanted;
  for (;;) {
    try {
      const real = await realpath(at);
      if (roots.mayName !== undefined && real !== roots.city && !isBelow(roots.city, real)) {
        const directory = path.join(real, ...missing);
        await requireNamed(directory, roots);
        return directory;
      }
      if (!places.covers(real)) throw escapes(roots.city);
      if (!(await stat(real)).isDirectory()) throw invalid('a part of it is not a directory');
      return path.join(real, ...missing);
    } catch (error) {
      const code = errnoOf(error);
      // Whether something outside of the city is a file is not for everybody: what counts is where the path leads.
      const isBeyond = roots.mayName !== undefined && (code === 'ENOTDIR' || code === 'EACCES');
      if (code !== 'ENOENT' && !isBeyond) throw code === undefined ? error : invalid(reasonOf(code));
      const now = code === 'ENOENT' ? await lstat(at).catch(() => undefined) : undefined;
      if (now?.isSymbolicLink() === true)
        throw roots.mayName === undefined ? invalid('it goes through a symbolic link to nowhere') : notYours();
      // A rival has just made it.
      if (now !== undefined) continue;
      if (at === path.dirname(at)) throw error;
      missing.unshift(path.basename(at));
      at = path.dirname(at);
    }
  }
}

async function requireNamed(directory: string, { city, mayName }: Roots): Promise<void> {
  if (mayName === undefined || directory === city || isBelow(city, directory)) return;
  if (!(await mayName(directory))) throw notYours();
}

async function requireNoOtherCity(directory: string, places: RigRoots, own: string): Promise<void> {
  if (isBelow(own, directory)) return;
  for (let at = directory; places.of(at) !== undefined; at = path.dirname(at)) {
    if (await exists(path.join(at, 'city.toml'))) throw invalid('it lies in another city');
  }
}

async function exists(at: string): Promise<boolean> {
  return lstat(at).then(
    () => true,
    (error: unknown) => {
      if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return false;
      throw invalid(reasonOf(errnoOf(error) ?? 'unknown error'));
    },
  );
}

function reasonOf(code: string): string {
  if (code === 'ENOTDIR') return 'a part of it is not a directory';
  if (code === 'ENAMETOOLONG') return 'it is too long';
  if (code === 'ELOOP') return 'it goes through a loop of symbolic links';
  return `it cannot be used (${code})`;
}

function escapes(city: string): Error {
  const how = 'move or clone it to rigs/<name> of the city, or have the operator allow its directory (SVC_ALLOWED_PATHS)';
  return invalid(`rig path escapes the city root ${city} and the cities root: ${how}`);
}

function invalid(why: string): Error {
  return problem('invalid_request', `invalid rig path: ${why}`, { at: 'body.path' });
}
