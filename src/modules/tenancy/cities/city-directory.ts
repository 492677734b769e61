import { constants } from 'node:fs';
import { access, lstat, mkdir, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { Injectable } from '@nestjs/common';
import type { Principal } from '../../../contract/principal.js';
import { problem } from '../../../contract/problems.js';
import { CITY_NAME_MAX, CITY_NAME_PATTERN, SUPERVISOR_STREAM } from '../../../contract/scalars.js';
import { AppConfig } from '../../../platform/config/config.js';
import { errnoOf, hasTooManyParts, isBelow, MOST_PARTS } from '../../files/composition/trees/paths.js';
import { DirectoriesService } from '../../files/directories/directories.service.js';
import { notYours } from '../../files/directories/not-yours.js';

const MAX_DEPTH = 16;
const MAX_COMPONENT_BYTES = 255;

/** Where cities may lie: below the cities root, whatever `..` and symbolic links say. */
@Injectable()
export class CityDirectories {
  constructor(
    private readonly config: AppConfig,
    private readonly directories: DirectoriesService,
  ) {}

  /**
   * The canonical absolute path that `dir` means; it may not exist yet.
   *
   * @throws ProblemError validation_failed when it leaves the cities root or cannot hold a city,
   * dependency_missing when the root itself cannot be used, forbidden when it is none of those that the key may name:
   * before the disk is looked at, so that the answer is the same for what is there and what is not.
   */
  async resolve(dir: string, { cities }: Principal): Promise<string> {
    if (dir.includes('\0') || !dir.isWellFormed()) throw invalid('it contains characters that no path can have');
    if (dir.trim() === '') throw invalid('it is empty');
    const root = await this.root();
    const wanted = path.resolve(root, dir);
    // The configured spelling of the root may differ from its real path: both count as inside.
    const spelled = path.resolve(this.config.citiesRoot);
    const inside = isBelow(root, wanted) ? wanted : isBelow(spelled, wanted) ? path.join(root, path.relative(spelled, wanted)) : undefined;
    if (inside === undefined) throw invalid(`it must lie inside ${root}`);
    // Before anybody is asked for each part that is not there.
    if (hasTooManyParts(inside)) throw invalid(`its path has more than ${MOST_PARTS} parts`);
    const mayName = async (at: string): Promise<boolean> => cities === undefined || (await this.directories.isOf(cities, at, root));
    if (!(await mayName(inside))) throw notYours();
    const real = await canonical(inside);
    if (!isBelow(root, real)) throw invalid(`it must lie inside ${root}`);
    if (real !== inside && !(await mayName(real))) throw notYours();
    if (await this.directories.isOfService(real)) throw invalid('it belongs to the service');
    const parts = path.relative(root, real).split(path.sep);
    if (parts.length > MAX_DEPTH) throw invalid(`it lies more than ${MAX_DEPTH} directories deep`);
    for (const part of parts) {
      if (Buffer.byteLength(part) > MAX_COMPONENT_BYTES) throw invalid('a part of it is longer than 255 bytes');
      // Where the file system knows no cases, `.GC` is the same directory.
      if (part.toLowerCase() === '.gc') throw invalid('it lies in the runtime directory of a city');
      if (part.toLowerCase() === '.packs') throw invalid('it lies in the directory of fetched packs');
    }
    for (let parent = path.dirname(real); isBelow(root, parent); parent = path.dirname(parent)) {
      if (await isFile(path.join(parent, 'city.toml'))) throw invalid(`it lies inside the city at ${parent}`);
    }
    return real;
  }

  /** The real path of the cities root, made when missing. @throws ProblemError dependency_missing */
  async root(): Promise<string> {
    const { citiesRoot } = this.config;
    try {
      await mkdir(citiesRoot, { recursive: true });
      await access(citiesRoot, constants.R_OK | constants.W_OK | constants.X_OK);
      return await realpath(citiesRoot);
    } catch (error) {
      throw problem('dependency_missing', `the cities directory cannot be used: ${errnoOf(error) ?? 'unknown error'}`, { cause: error });
    }
  }
}

/** The name a city gets: the given one, else the base name of its directory. @throws ProblemError validation_failed */
export function cityName(given: string | undefined, dir: string): string {
  const name = (given ?? path.basename(dir)).trim();
  if (!CITY_NAME_PATTERN.test(name) || name === SUPERVISOR_STREAM || name.length > CITY_NAME_MAX) {
    throw problem(
      'validation_failed',
      `invalid city name: "${name}" must begin with a letter or a digit, go on with letters, digits, ".", "_" or "-", and have at most ${CITY_NAME_MAX} characters`,
      { at: given === undefined ? 'body.dir' : 'body.name', value: name },
    );
  }
  return name;
}

/** Resolves every symbolic link on the way; the part that does not exist yet is kept as it is. */
async function canonical(wanted: string): Promise<string> {
  const missing: string[] = [];
  for (let at = wanted; ; at = path.dirname(at)) {
    try {
      const real = await realpath(at);
      if (!(await stat(real)).isDirectory()) throw invalid(`${at} is not a directory`);
      return path.join(real, ...missing);
    } catch (error) {
      const code = errnoOf(error);
      if (code !== 'ENOENT') throw code === undefined ? error : invalid(reason(code));
      if (await isDanglingLink(at)) throw invalid(`${at} is a symbolic link to nowhere`);
      if (at === path.dirname(at)) throw error;
      missing.unshift(path.basename(at));
    }
  }
}

async function isDanglingLink(at: string): Promise<boolean> {
  return lstat(at).then(
    (found) => found.isSymbolicLink(),
    () => false,
  );
}

async function isFile(at: string): Promise<boolean> {
  return stat(at).then(
    (found) => found.isFile(),
    () => false,
  );
}

function reason(code: string): string {
  if (code === 'ENOTDIR') return 'a part of it is not a directory';
  if (code === 'ENAMETOOLONG') return 'it is too long';
  if (code === 'ELOOP') return 'it goes through a loop of symbolic links';
  return `it cannot be used (${code})`;
}

function invalid(why: string): Error {
  return problem('validation_failed', `invalid city directory: ${why}`, { at: 'body.dir' });
}
