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

/** What a restore has unpacked, in the data directory, until it has ended. The token of the restore comes after it. */
const UNPACKED = 'restore.new';
/** In it: how the rest is put back. Who finds it goes on with that. */
const PLAN = 'plan.json';

interface Plan {
  readonly cities?: { readonly folder: string; readonly place: CitiesPlan };
}

export const unpackedIn = (dataDir: string, token: string): string => join(dataDir, `${UNPACKED}-${token}`);

/** Removes what restores have left that were killed, apart from the one whose rest is still to be put back. */
export async function removeUnpacked(dataDir: string, but: string | undefined): Promise<void> {
  for (const name of await readdir(dataDir)) if (name.startsWith(UNPACKED) && name !== `${UNPACKED}-${but}`) await remove(dataDir, name);
}

/** Removes what the restore with this token has unpacked, if anything. */
export const removeUnpackedOf = (dataDir: string, token: string): Promise<void> => remove(dataDir, `${UNPACKED}-${token}`);

/** Also folders of cities that nothing may be taken out of: what goes to another file system is copied, and stays here. */
async function remove(dataDir: string, name: string): Promise<void> {
  const at = join(await realpath(dataDir), name);
  await removeTree(at).catch((error: Error) => {
    throw new Error(`${at}: ${error.message}`, { cause: error });
  });
}

/**
 * Writes down how what comes after the database is put back: the cities, the first key, the rules of the host. @throws Error where the cities
 * cannot be, before anything is touched
 */
export async function planRest({ citiesRoot }: AppConfig, { cities }: Manifest, folder: string, stamp: string): Promise<void> {
  if (cities === undefined) return keep(folder, {});
  // Where a link leads to: the cities are known by their real paths.
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

/** Puts back what is left of it, and answers what could not be. */
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
  // Before what was unpacked is removed.
  for (const path of [...(cities === undefined ? [] : [cities.place.root]), config.dataDir]) await flush(path);
  return lacks;
}

/**
 * Does what the restore with this token has left when it was killed, or has failed before it. False where nobody knows what that is.
 *
 * @throws Error where it cannot be done
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
  // One that is there may be read-only, or somebody else's.
  await rm(join(dataDir, KEY), { force: true });
  await copyFile(join(folder, KEY), join(dataDir, KEY));
  await chmod(join(dataDir, KEY), 0o600);
}

/** Only where none is: the rules of a host are its own, also where it gets the backup of another one. Whoever has the data directory reads them. */
async function placeHost({ dataDir }: Named, folder: string, tell: Tell): Promise<void> {
  const [from, to] = [join(folder, HOST), join(dataDir, HOST)];
  if (!existsSync(from) || existsSync(to)) return;
  // It has its name once it is whole: whoever goes on leaves one that is there.
  const fresh = `${to}.new`;
  await rm(fresh, { force: true });
  await copyFile(from, fresh);
  await chmod(fresh, 0o600);
  const { uid, gid } = await stat(dataDir);
  // Not all file systems let root do it.
  if (process.getuid?.() === 0) await chown(fresh, uid, gid).catch((error: Error) => tell(`${to} stays root's: ${error.message}`));
  await rename(fresh, to);
  tell(`${to} is that of the backup`);
}
