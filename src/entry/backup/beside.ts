import { existsSync } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import type { AppConfig } from '../../platform/config/config.js';
import { KEY } from './archive.js';
import { withClient } from './programs.js';

interface Known {
  readonly cities: number;
  /** Cities that are not below the root. */
  readonly elsewhere: number;
  /** The folder of one of these. */
  readonly one: string | null;
  /** The folders of the others. */
  readonly here: readonly string[];
  /** Whether there are keys that are not revoked. */
  readonly keys: boolean;
}

/**
 * Lines about what the database knows and a backup with these folders would lack.
 *
 * @throws Error when it would have none of the cities: then these are the folders of another service, and the backup would be a database without its files
 */
export async function notSaved(url: string, { citiesRoot, dataDir }: AppConfig): Promise<string[]> {
  const known = await knownIn(url, citiesRoot);
  if (known === undefined) return [];
  const { cities, elsewhere, one, here, keys } = known;
  const folders = 'name the data directory with --data-dir (SVC_DATA_DIR), or the folder of the cities with SVC_CITIES_ROOT';
  if (cities > 0 && elsewhere === cities)
    throw new Error(`none of the cities that the database knows (${cities}, such as ${one}) lies in ${citiesRoot}: ${folders}`);
  if (cities > 0 && !existsSync(citiesRoot))
    throw new Error(
      `${citiesRoot} is not there, where the database has its cities (${cities}): run it where their files are, or ${folders}`,
    );
  // None of the paths exists on another machine, or when a volume is not mounted.
  const gone = await goneOf(here);
  if (here.length > 0 && gone.length === here.length)
    throw new Error(
      `none of the cities that the database knows in ${citiesRoot} is there (${gone[0]}): run it where their files are, or ${folders}; what is gone for good, unregister with \`svc city unregister\``,
    );
  const key = join(dataDir, KEY);
  return [
    ...(gone.length === 0 ? [] : [`${gone.length} of ${cities} cities are not in it, as their folders are gone, such as ${gone[0]}`]),
    ...(elsewhere === 0 ? [] : [`${elsewhere} of ${cities} cities are elsewhere and not in it, such as ${one}`]),
    ...(keys && !existsSync(key) ? [`the first key is not in it: there is no ${key}`] : []),
  ];
}

/** Folders that are looked at in parallel. */
const AT_ONCE = 8;

async function goneOf(folders: readonly string[]): Promise<string[]> {
  const gone: string[] = [];
  const left = folders.values();
  const look = async (): Promise<void> => {
    for (const folder of left) if (!(await isThere(folder))) gone.push(folder);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, look));
  return gone.sort();
}

const isThere = (folder: string): Promise<boolean> =>
  stat(folder).then(
    () => true,
    (error: NodeJS.ErrnoException) => error.code !== 'ENOENT',
  );

const NO_TABLE = '42P01';

/** Undefined for a database without the service's tables. The database has the real paths of cities. */
async function knownIn(url: string, citiesRoot: string): Promise<Known | undefined> {
  const spelled = resolve(citiesRoot);
  const real = await realpath(spelled).catch(() => spelled);
  return withClient(url, async (client) => {
    try {
      const { rows } = await client.query<Known>(
        `select count(*)::int as cities, count(*) filter (where elsewhere)::int as elsewhere, min(dir collate "C") filter (where elsewhere) as one,
                coalesce(array_agg(dir) filter (where not elsewhere), '{}') as here,
                exists (select from api_keys where revoked_at is null) as keys
         from (select dir, not (starts_with(dir, $1) or starts_with(dir, $2)) as elsewhere from cities) known`,
        [real + sep, spelled + sep],
      );
      return rows[0]!;
    } catch (error) {
      if ((error as { readonly code?: string }).code === NO_TABLE) return undefined;
      throw error;
    }
  });
}
