import { existsSync } from 'node:fs';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { AppConfig } from '../../platform/config/config.js';
import { pastPooler } from '../../platform/config/database-address.js';
import { serversOf } from '../../platform/database/servers.js';
import { startEmbedded } from '../../platform/embedded/embedded-postgres.js';
import { DirectoryInUse } from '../../platform/embedded/lock.js';
import { sleep } from '../../platform/time/clock.js';
import { assertNoneOwed, assertWhole } from '../unfinished-restore.js';
import { notSaved } from './beside.js';
import { ASIDE, citiesOf, DUMP, FILES, HOST, KEY, MANIFEST, pack, PASSWORD, type Manifest } from './archive.js';
import { copyRunning, ServerGone, withRunning } from './embedded-copy.js';
import { connectionOf } from './libpq.js';
import { programFor, run, versionOf } from './programs.js';
import { checkTarget } from './target-file.js';

const WHY: Readonly<Record<string, string>> = {
  ENOENT: 'there is no directory',
  ENOTDIR: 'this is no directory',
  EACCES: 'this may not be written',
};

/**
 * Writes the database, the cities, the first key and the rules of the host into one file, also while the service runs. The database is as of one moment; the files
 * are copied after it, since the service notices files that are newer than its database. A backup that `signal` ends leaves nothing. An existing
 * `file` that is no backup is replaced only with `replace`.
 *
 * @returns a line for the user
 * @throws Error when a restore has not ended or the cities are not those of the database. Also after `file` was written, when the rules of the host or files of
 *   cities could not be read
 */
export async function backUp(
  config: AppConfig,
  file: string,
  replace: boolean,
  tell: (line: string) => void,
  signal?: AbortSignal,
): Promise<string> {
  await checkTarget(file, MANIFEST, replace);
  const into = dirname(resolve(file));
  const folder = await mkdtemp(join(into, '.svc-backup-')).catch((error: NodeJS.ErrnoException) => {
    throw new Error(`cannot write ${file}: ${WHY[error.code ?? ''] ?? error.message}: ${into}`, { cause: error });
  });
  try {
    const at = new Date().toISOString();
    // Not through a pooler: pg_dump changes settings of its connection (such as the search path), with which other clients would find no table.
    const url = pastPooler(config, config.databaseUrl);
    // Looked at before the copy, which may take long.
    let without: readonly string[] = [];
    const look = async (server: string): Promise<void> => void (without = await notSaved(server, config));
    const database =
      url === undefined ? await copyEmbedded(config, folder, look, tell, signal) : await dumpServer(url, folder, look, signal);
    const saved = (name: string): Promise<void> => copyFile(join(config.dataDir, name), join(folder, name));
    if (existsSync(join(config.dataDir, KEY))) await saved(KEY);
    const lacksRules = existsSync(join(config.dataDir, HOST)) && !(await saved(HOST).then(() => true, isUnreadable));
    const cities = citiesOf(config.citiesRoot);
    const { size, lacks: closed } = await pack(file, folder, { format: 1, at, ...database, ...cities }, signal);
    const lacks = lacksRules ? [HOST, ...closed] : closed;
    if (lacks.length > 0) throw new Error(`${file} is written, and ${lacking(lacks)}`);
    const what = cities.cities === undefined ? 'the database' : `the database and the cities of ${config.citiesRoot}`;
    return [`${file}: ${what}, ${Math.max(1, Math.round(size / 1e5)) / 10} MB`, ...without].join('; ');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** False for an error of a file that may not be read. @throws any other error */
function isUnreadable(error: NodeJS.ErrnoException): false {
  if (error.code !== 'EACCES') throw error;
  return false;
}

type Look = (url: string) => Promise<void>;

/** Files that a message names. */
const NAMED = 10;

/** Files that an agent has made unreadable do not keep the rest from being saved, but the user is told. */
function lacking(names: readonly string[]): string {
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : '';
  return `lacks what may not be read here: ${names.slice(0, NAMED).join(', ')}${more}; run it as the owner of these, or as root`;
}

/** How often a copy is begun. It fails when the server of another process ends under it: a service that stops, or another backup. */
const COPIES = 50;
const AGAIN_MS = 200;
/** Pause after a copy that failed in the middle: the service may be about to start again, and this backup must not hold its directory then. */
const RESTART_MS = 10_000;

async function copyEmbedded(
  config: AppConfig,
  folder: string,
  look: Look,
  tell: (line: string) => void,
  signal: AbortSignal | undefined,
): Promise<Pick<Manifest, 'database' | 'server'>> {
  const home = join(config.dataDir, 'postgres');
  const data = join(home, 'data');
  if (!existsSync(join(data, 'PG_VERSION')))
    throw new Error(`there is nothing to back up in ${config.dataDir}; name another with --data-dir`);
  let begun = false;
  const copy = async (url: string): Promise<number> => {
    await look(url);
    begun = true;
    const server = await copyRunning(url, data, join(folder, FILES), signal);
    await copyFile(join(home, 'password'), join(folder, PASSWORD));
    return server;
  };
  let told = '';
  for (let left = COPIES; ; left--) {
    // After an unfinished restore the database may not be whole, or the cities not in place.
    await assertNoneOwed(config.dataDir);
    try {
      return { database: 'files', server: await copyFromRunning(config, copy, tell, signal) };
    } catch (error) {
      if (!(error instanceof ServerGone) || left === 1) throw error;
      if (told !== error.message) tell(`${error.message}; trying again …`);
      told = error.message;
    }
    await rm(join(folder, FILES), { recursive: true, force: true });
    await sleep(begun ? RESTART_MS : AGAIN_MS, signal);
    begun = false;
  }
}

/** Copies from the server of the process that has the data directory, or from one that is started here. @throws ServerGone */
async function copyFromRunning(
  { dataDir }: AppConfig,
  copy: (url: string) => Promise<number>,
  tell: (line: string) => void,
  signal: AbortSignal | undefined,
): Promise<number> {
  let own: Awaited<ReturnType<typeof startEmbedded>>;
  try {
    own = await startEmbedded(dataDir, { sudoUid: process.env.SUDO_UID, signal, onStep: tell });
  } catch (error) {
    if (!(error instanceof DirectoryInUse)) throw error;
    return withRunning(join(dataDir, 'postgres'), copy);
  }
  tell('the service does not run; its database is started for the backup …');
  try {
    return await copy(own.url);
  } finally {
    await own.stop();
  }
}

async function dumpServer(
  databaseUrl: string,
  folder: string,
  look: Look,
  signal: AbortSignal | undefined,
): Promise<Pick<Manifest, 'database' | 'server'>> {
  await assertWhole(databaseUrl);
  const url = await serversOf(databaseUrl).current();
  await look(url);
  const server = await versionOf(url);
  const { address, env } = await connectionOf(url, folder);
  await run(
    await programFor('pg_dump', server),
    ['--format=custom', '--no-owner', `--exclude-schema=*${ASIDE}*`, `--file=${join(folder, DUMP)}`, address],
    { env, signal },
  );
  return { database: 'dump', server };
}
