import path from 'node:path';
import { CITY_FILE } from '../compose/city-files.js';
import { isBelow } from '../trees/paths.js';
import { lstat } from '../trees/placed.js';
import { bareAddress, type RepositorySource } from './sources.js';

/** Where a pack lies, and what the relative sources in it may name. */
export interface Home {
  readonly kind: 'local' | 'builtin' | 'repository';
  /** The real path of the pack. */
  readonly directory: string;
  /** The real path that relative sources stay inside. */
  readonly boundary: string;
  /** Where links of a pack may lead: its own city, repository or shipped directory. */
  readonly within: (directory: string) => string;
  /** The id of the pack in a directory. */
  readonly id: (directory: string) => string;
  readonly version?: string | undefined;
  readonly commit?: string | undefined;
}

const NAMES = { local: 'the cities root', builtin: 'the packs that are shipped', repository: 'the repository' };

export function outside(home: Home): string {
  return `it has to lie inside ${NAMES[home.kind]}`;
}

/** Packs on disk are named as the city's owner would write them. @param city its real path, `boundary` the cities root's. */
export function cityHome(city: string, boundary: string): Home {
  const inCity = (directory: string): boolean => directory === city || directory.startsWith(city + path.sep);
  return {
    kind: 'local',
    directory: city,
    boundary,
    within: (directory) => (inCity(directory) ? city : directory),
    id: (directory) => path.relative(city, directory) || '.',
  };
}

export function builtinHome(boundary: string): Home {
  return {
    kind: 'builtin',
    directory: boundary,
    boundary,
    within: (directory) => directory,
    id: (directory) => `builtin:${path.relative(boundary, directory)}`,
  };
}

/** Packs of a repository are named by it, by the commit and by their folder. @param tree the real path of the checkout. */
export function repositoryHome(source: RepositorySource, tree: string, pin: { readonly version?: string; readonly commit: string }): Home {
  const repository = `${bareAddress(source.url)}@${pin.commit.slice(0, 12)}`;
  return {
    kind: 'repository',
    directory: tree,
    boundary: tree,
    within: () => tree,
    id: (directory) => (directory === tree ? repository : `${repository}//${path.relative(tree, directory)}`),
    version: pin.version,
    commit: pin.commit,
  };
}

/**
 * Directories beside the cities may be shared; one that has a `city.toml`, or lies below one, is somebody's own. All paths
 * are real ones.
 *
 * @param noteAbsent is told of each file whose appearance would change the answer
 */
export async function isOfAnotherCity(
  directory: string,
  city: string,
  citiesRoot: string,
  noteAbsent: (file: string) => void = () => undefined,
): Promise<boolean> {
  if (directory === city || isBelow(city, directory)) return false;
  for (let at = directory; isBelow(citiesRoot, at); at = path.dirname(at)) {
    const file = path.join(at, CITY_FILE);
    if ((await lstat(file).catch(() => undefined)) !== undefined) return true;
    noteAbsent(file);
  }
  return false;
}
