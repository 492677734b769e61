import { readlink } from 'node:fs/promises';
import path from 'node:path';
import type { Principal } from '../../../contract/principal.js';
import type { Issue } from '../../files/composition/issue.js';
import type { Ledger } from '../../files/composition/trees/ledger.js';
import { errnoOf, hasTooManyParts, isBelow } from '../../files/composition/trees/paths.js';
import { realpath } from '../../files/composition/trees/placed.js';
import type { RigClaims } from '../../files/directories/directories.service.js';
import { RigRoots, type RigRootsConfig } from '../../files/directories/rig-roots.js';
import type { RigPath } from './composed.js';

/** Who asks for what the files of a city say. */
export interface Asking {
  readonly caller: Principal;
  /** A directory that the request names as a rig's: what files say beside it nobody asks for. */
  readonly rig?: string | undefined;
}

/** A rig outside of its city. */
export interface RigOutside {
  /** What is wrong when its directory is one of those. */
  readonly refusal: (directories: ReadonlySet<string>) => Issue[];
}

/** More than a city can need, and few enough to be looked at one by one. */
const MOST = 100;
/** As many as a path may go through. */
const MOST_LINKS = 40;
/** Directories that are not there, of all rigs together: for each of them the one above it is asked for, which takes half a millisecond. */
const MOST_ABSENT = 4_000;
/** What lies beyond a directory that is not there, is none, or may not be entered: it is judged by where it would be. */
const BEYOND = new Set(['ENOENT', 'ENOTDIR', 'EACCES']);

/** The rigs of a composed configuration whose real directories lie outside of the city, where rigs may lie. */
export async function rigsOutside(
  rigs: readonly RigPath[],
  roots: RigRootsConfig & { readonly city: string },
  ledger: Ledger,
  asking: Asking | undefined,
): Promise<{ readonly places: readonly RigOutside[]; readonly claims: RigClaims }> {
  const confined = asking?.caller.cities !== undefined;
  const given = asking?.rig === undefined || confined ? [] : [asking.rig];
  const may = await RigRoots.of(roots);
  const places: RigOutside[] = [];
  const paths = new Set<string>();
  const search: Search = { ledger, absent: 0 };
  for (const rig of rigs) {
    const directory = await directoryOf(path.resolve(roots.city, rig.path), search);
    // Not left out: nobody would ask whether it is in another city.
    if (directory === TOO_FAR) {
      places.push({ refusal: () => [issueAt(rig, 'lies too deep, or behind too much that is not there')] });
      if (search.absent > MOST_ABSENT) break;
      continue;
    }
    if (directory === undefined || may.of(directory) === undefined) continue;
    if (directory === roots.city || isBelow(roots.city, directory)) continue;
    if (!paths.has(directory) && paths.size === MOST) {
      const message = `more than ${MOST} rigs lie outside of the city`;
      places.push({ refusal: () => [issueAt(rig, message)] });
      break;
    }
    paths.add(directory);
    const words = wordsFor(confined, may.isBeyond(directory) && !given.includes(directory));
    places.push({ refusal: (refused) => (refused.has(directory) ? [issueAt(rig, words)] : []) });
  }
  return { places, claims: { paths: [...paths], given, confined } };
}

/** The same for what belongs to another city and for what belongs to nobody, when the key may not know which. */
function wordsFor(confined: boolean, beyond: boolean): string {
  if (confined) return 'lies outside of the city, where only a key for all cities may put a rig';
  if (beyond) return 'lies outside of the cities root, where rigs are put by requests (svc rig create --path) and by no file';
  return 'names a directory of another city, or one that has a city in it or was one';
}

function issueAt({ file, at }: RigPath, message: string): Issue {
  return { severity: 'error', file, key: at, message };
}

const TOO_FAR = Symbol('too far');

interface Search {
  readonly ledger: Ledger;
  /** Directories that were not there, so far. */
  absent: number;
}

/** Links on the way resolved, those to nowhere too; what is not there yet as it is written. Undefined for what cannot be a directory. */
async function directoryOf(wanted: string, search: Search, links = 0): Promise<string | typeof TOO_FAR | undefined> {
  const { ledger } = search;
  if (hasTooManyParts(wanted)) return TOO_FAR;
  const missing: string[] = [];
  for (let at = wanted; ; at = path.dirname(at)) {
    try {
      const real = await realpath(at);
      if (real !== at) ledger.noteLink(at, real);
      return path.join(real, ...missing);
    } catch (error) {
      if (!BEYOND.has(errnoOf(error) ?? '') || at === path.dirname(at)) return undefined;
      const target = await readlink(at).catch(() => undefined);
      if (target !== undefined) {
        ledger.noteAbsent(at);
        return links === MOST_LINKS ? undefined : directoryOf(path.resolve(path.dirname(at), target, ...missing), search, links + 1);
      }
      if (++search.absent > MOST_ABSENT) return TOO_FAR;
      missing.unshift(path.basename(at));
    }
  }
}
