import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { ASIDE_INSIDE, NOT_OURS } from './cities-place.js';
import { run } from './programs.js';
import { forHoles, packed } from './tar.js';
import { settle } from './target-file.js';

/** The first member of an archive. */
export interface Manifest {
  readonly format: 1;
  /** `files`: the folder of an embedded server; `dump`: what pg_dump has written. */
  readonly database: 'files' | 'dump';
  readonly at: string;
  /** The version of PostgreSQL. */
  readonly server: number;
  /** The path of the cities, which the database names them by. */
  readonly citiesRoot: string;
  /** The folder of the archive that has the cities. */
  readonly cities?: string;
}

export const MANIFEST = 'svc-backup.json';
/** In the name of a schema that a restore has moved aside, before the time. Backups leave these out. */
export const ASIDE = '_before_';
/** Names beside the manifest, in the archive and in the folder that it is made from. */
export const FILES = 'database';
export const DUMP = 'database.dump';
export const PASSWORD = 'password';
export const KEY = 'admin.key';
/** The operator's rules for the host. */
export const HOST = 'host.toml';
/** The archive while it is written. */
const PART = 'backup.part';

/**
 * Packs a prepared folder, which lies beside `file`, and the cities into `file`, which appears only once it is complete. Only its owner may read it. Returns its size
 * and the names of files that could not be read.
 */
export async function pack(
  file: string,
  folder: string,
  manifest: Manifest,
  signal?: AbortSignal,
): Promise<{ readonly size: number; readonly lacks: readonly string[] }> {
  await writeFile(join(folder, MANIFEST), `${JSON.stringify(manifest, undefined, 2)}\n`);
  const { citiesRoot, cities } = manifest;
  // In the folder of this backup, since two may run at once.
  const part = join(folder, PART);
  const members = [MANIFEST, ...[FILES, DUMP, PASSWORD, KEY, HOST].filter((name) => existsSync(join(folder, name)))];
  await writeFile(part, '', { mode: 0o600 });
  await chmod(part, 0o600);
  // The content: the folder of the cities itself may be a link.
  const inside = cities === undefined ? undefined : `${cities}/.`;
  const without = [`${ASIDE_INSIDE}*`, NOT_OURS].map((name) => `--exclude=${inside}/${name}`);
  const args = ['-czf', part, ...(await forHoles()), ...without, '-C', folder, ...members];
  const lacks = await packed([...args, ...(inside === undefined ? [] : ['-C', dirname(citiesRoot), inside])], inside, signal);
  await settle(part, resolve(file));
  return { size: (await stat(file)).size, lacks: lacks.map((name) => name.replace('/./', '/')) };
}

/** Unpacks `file` into a new folder beside the data. @throws Error for a file that is no backup */
export async function unpack(file: string, folder: string, signal?: AbortSignal): Promise<Manifest> {
  if (!existsSync(file)) throw new Error(`there is no file ${file}`);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await run('tar', ['-xzf', resolve(file), '-C', folder], { signal }).catch((error: Error) => {
    signal?.throwIfAborted();
    throw new Error(`${file} is no backup of svc, or it is cut off: ${error.message}`);
  });
  const text = await readFile(join(folder, MANIFEST), 'utf8').catch(() => '{}');
  const manifest = JSON.parse(text) as Partial<Manifest>;
  if (manifest.cities !== undefined && manifest.cities !== basename(manifest.citiesRoot ?? ''))
    throw new Error(`${file} does not have its cities where it says`);
  if (manifest.format !== 1) throw new Error(`${file} is no backup that this release of svc can read`);
  return manifest as Manifest;
}

export const citiesOf = (citiesRoot: string): { citiesRoot: string; cities?: string } =>
  existsSync(citiesRoot) ? { citiesRoot, cities: basename(citiesRoot) } : { citiesRoot };
