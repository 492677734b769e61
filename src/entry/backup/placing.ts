import { existsSync } from 'node:fs';
import { chmod, chown, copyFile, readdir, realpath, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { AppConfig } from '../../platform/config/config.js';
import { removeTree } from '../../platform/runtime/preparation/remove-tree.js';
import { readIfThere, writeForAll } from '../unfinished-restore.js';
import { HOST, KEY, type Manifest } from './archive.js';
import { placeCities, planCities, type CitiesPlan } from './cities-place.js';
import { flush } from './programs.js';

type Tell = (line: string) => void;
type Named = Pick<AppConfig, 'dataDir'>;

/** Prefix of the folder in the data directory into which a restore unpacks, before its token. It is there until the restore has ended. */
const UNPACKED = 'restore.new';
/** In that folder: the plan by which cities, key and rules are put back. The next start goes on by it after a restore was killed. */
const PLAN = 'plan.json';

interface Plan {
  readonly cities?: { readonly folder: string; readonly place: CitiesPlan };
}

export const unpackedIn = (dataDir: string, token: string): string => join(dataDir, `${UNPACKED}-${token}`);

/** Removes the folders of restores that were killed, but not of the one that is still to be completed. */
export async function removeUnpacked(dataDir: string, but: string | undefined): Promise<void> {
  for (const name of await readdir(dataDir)) if (name.startsWith(UNPACKED) && name !== `${UNPACKED}-${but}`) await remove(dataDir, name);
}

/** Removes the folder of the restore with this token, if there is one. */
export const removeUnpackedOf = (dataDir: string, token: string): Promise<void> => remove(dataDir, `${UNPACKED}-${token}`);

/** Removes a folder even when it has read-only folders of cities: those that were copied to another file system stay here until now. */
async function remove(dataDir: string, name: string): Promise<void> {
  const at = join(await realpath(dataDir), name);
  await removeTree(at).catch((error: Error) => {
    throw new Error(`${at}: ${error.message}`, { cause: error });
  });
}

/**
 * Stores the plan for what is put back after the database: the cities, the first key, the rules of the host.
 *
 * @throws Error when the cities cannot be put back, before anything is touched
 */
export async function planRest({ citiesRoot }: AppConfig, { cities }: Manifest, folder: string, stamp: string): Promise<void> {
  if (cities === undefined) return keep(folder, {});
  // The target of a link: the database has the real paths of cities.
  const root = await realpath(citiesRoot).catch(() => citiesRoot);
  await keep(folder, { cities: { folder: cities, place: await planCities(root, stamp) } });
}

const keep = (folder: string, plan: Plan): Promise<void> => writeForAll(join(folder, PLAN), JSON.stringify(plan));

/** @throws Error for a plan that cannot be read */
async function planIn(folder: string): Promise<Plan | undefined> {
  const text = await readIfThere(join(folder, PLAN));
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as Plan;
  } catch (error) {
    throw new Error(`${PLAN} is not whole: ${(error as Error).message}`, { cause: error });
  }
}

/** Puts back what the plan still has to, and returns what could not be put back. */
export async function placeRest(config: Named, folder: string, tell: Tell): Promise<string[]> {
  return place(config, folder, (await planIn(folder))!, tell);
}

async function place(config: Named, folder: string, { cities }: Plan, tell: Tell): Promise<string[]> {
  const lacks: string[] = [];
  const put = (what: string, work: () => Promise<void>): Promise<void> =>
    work().catch((error: Error) => void lacks.push(`${what} not: ${error.message}`));
  if (cities !== undefined)
    await put('the cities are', () =>
      placeCities(cities.place, join(folder, cities.folder), (place) => keep(folder, { cities: { ...cities, place } }), tell),
    );
  await put('the first key is', () => placeKey(config, folder));
  await put('host.toml is', () => placeHost(config, folder, tell));
  // On the disk before the unpacked files are removed.
  for (const path of [...(cities === undefined ? [] : [cities.place.root]), config.dataDir]) await flush(path);
  return lacks;
}

/**
 * Completes the plan of the restore with this token, which was killed or has failed. False when there is no plan.
 *
 * @throws Error when that cannot be done
 */
export async function endPlacing(config: Named, token: string, tell: Tell): Promise<boolean> {
  const folder = unpackedIn(config.dataDir, token);
  const fail = (why: string, cause?: unknown): never => {
    throw new Error(
      `a restore has not ended, and what is left of it in ${folder} cannot be put back: ${why}; mend that and start again (the first time as the user who has restored, where that was another one); or run the restore again with --replace; or put it back by hand and remove that folder`,
      { cause },
    );
  };
  const plan = await planIn(folder).catch((error: Error) => fail(error.message, error));
  if (plan === undefined) return false;
  const lacks = await place(config, folder, plan, tell);
  if (lacks.length > 0) fail(lacks.join('; '));
  return true;
}

async function placeKey({ dataDir }: Named, folder: string): Promise<void> {
  if (!existsSync(join(folder, KEY))) return;
  // An existing file may be read-only, or of another user.
  await rm(join(dataDir, KEY), { force: true });
  await copyFile(join(folder, KEY), join(dataDir, KEY));
  await chmod(join(dataDir, KEY), 0o600);
}

/** Puts the rules of the host back only if it has none: a host keeps its own rules when it gets the backup of another. The owner of the data directory reads them. */
async function placeHost({ dataDir }: Named, folder: string, tell: Tell): Promise<void> {
  const [from, to] = [join(folder, HOST), join(dataDir, HOST)];
  if (!existsSync(from) || existsSync(to)) return;
  // Renamed once it is complete: a restore that goes on after a crash leaves an existing file alone.
  const fresh = `${to}.new`;
  await rm(fresh, { force: true });
  await copyFile(from, fresh);
  await chmod(fresh, 0o600);
  const { uid, gid } = await stat(dataDir);
  // Some file systems refuse this even to root.
  if (process.getuid?.() === 0) await chown(fresh, uid, gid).catch((error: Error) => tell(`${to} stays root's: ${error.message}`));
  await rename(fresh, to);
  tell(`${to} is that of the backup`);
}
