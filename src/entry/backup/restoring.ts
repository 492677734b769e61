import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, copyFile, lstat, rename, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import type { AppConfig } from '../../platform/config/config.js';
import { pastPooler } from '../../platform/config/database-address.js';
import { serversOf } from '../../platform/database/servers.js';
import { chooseAccount } from '../../platform/embedded/account.js';
import { findBinaries } from '../../platform/embedded/binaries.js';
import { startEmbedded } from '../../platform/embedded/embedded-postgres.js';
import { makeWay, prepareHome } from '../../platform/embedded/home.js';
import { lockDirectory } from '../../platform/embedded/lock.js';
import { epochOf, keepEpoch } from '../known-epoch.js';
import { makeReady } from '../schema.js';
import { beginRestore, endRestore, mark, oweEpoch, owedBy } from '../unfinished-restore.js';
import { ASIDE, DUMP, FILES, PASSWORD, unpack, type Manifest } from './archive.js';
import { move } from './cities-place.js';
import { loader } from './loading.js';
import { placeRest, planRest, removeUnpacked, removeUnpackedOf, unpackedIn } from './placing.js';
import { flush, majorOf, run, withClient } from './programs.js';

/**
 * Puts back what `backUp` has written, and begins a new epoch of the log: what came after the backup may have been read. Nothing may run
 * meanwhile. What is there already stays unless it shall be replaced; it is then moved aside, files and schemas. `signal` ends it as long as
 * nothing has been touched, and in the middle of a dump. Returns what to say.
 */
export async function restore(
  config: AppConfig,
  file: string,
  replace: boolean,
  tell: (line: string) => void,
  signal?: AbortSignal,
): Promise<string> {
  const isNew = !existsSync(config.dataDir);
  await makeWay(config.dataDir, undefined);
  const lock = await lockDirectory(config.dataDir, { onStep: tell, signal });
  const token = randomUUID();
  const folder = unpackedIn(config.dataDir, token);
  let locked = true;
  const unlock = async (): Promise<void> => {
    if (locked) await lock.release();
    locked = false;
  };
  const removeEarlier = (but: string | undefined): Promise<void> =>
    removeUnpacked(config.dataDir, but).catch((error: Error) => tell(`what a restore before this has left stays: ${error.message}`));
  try {
    // What is left of one before this stays until its database is replaced: this one may be refused.
    await removeEarlier(await owedBy(config.dataDir));
    const manifest = await unpack(file, folder, signal);
    assertFits(config, manifest);
    await assertReads(manifest);
    const stamp = new Date().toISOString().replace(/[:.]/g, '-');
    const aside = async (path: string): Promise<void> => {
      // Also a link to what is gone: it has the name that is needed.
      if ((await lstat(path).catch(() => undefined)) === undefined) return;
      await rename(path, `${path}.before-${stamp}`);
      tell(`${path} is now ${path}.before-${stamp}`);
    };
    // The programs of PostgreSQL set what outlives their transactions: a pooler would give that to others.
    const database = pastPooler(config, config.databaseUrl);
    const isUsed = await assertFree(config, database, replace);
    const load = database === undefined ? undefined : await loader(database, manifest, join(folder, DUMP), signal);
    await planRest(config, manifest, folder, stamp);
    signal?.throwIfAborted();
    let epoch: number;
    /** Whoever is killed, or fails, from here on leaves the epoch of the log, and what comes after the database, to the next start. */
    const hasLoaded = async (): Promise<void> => {
      await flush(folder);
      await oweEpoch(config.dataDir, token);
      // Nobody goes on with that of one before this any more.
      await removeEarlier(token);
    };
    const finish = async (url: string): Promise<number> => {
      await makeReady(config, url);
      const begun = await epochOf(url);
      const lacks = await placeRest(config, folder, tell);
      if (lacks.length > 0)
        throw new Error(
          `the database is restored (epoch ${begun}); ${lacks.join('; ')}; mend that: what is left in ${folder} is put back by the next start of one process for all, or the migrate step`,
        );
      // No sooner: the cities would be replaced under whoever starts.
      await endRestore(config.dataDir, url);
      return begun;
    };
    if (database === undefined) {
      await beginRestore(config.dataDir, () => aside(join(config.dataDir, 'postgres')));
      await placeFiles(config, folder);
      await hasLoaded();
      // The server takes the lock itself.
      await unlock();
      const server = await startEmbedded(config.dataDir, { sudoUid: process.env.SUDO_UID, onStep: tell });
      try {
        epoch = await finish(server.url);
      } finally {
        await server.stop();
      }
    } else {
      const url = await serversOf(database).current();
      if (isUsed) await keepEpoch(config.dataDir, await epochOf(url));
      await beginRestore(config.dataDir, () =>
        isUsed ? schemasAside(url, stamp, token, tell) : withClient(url, (client) => mark(client, token)),
      );
      await load!(url, tell);
      await withClient(url, (client) =>
        assertUnused(config, client, 'the service was started on this database: stop it, and restore again'),
      );
      await hasLoaded();
      epoch = await finish(url);
    }
    return `restored as of ${manifest.at}; the log is in epoch ${epoch}: clients that had read more are told so`;
  } finally {
    await unlock();
    // Where nobody can say: there is no other copy of it.
    const isOwed = (await owedBy(config.dataDir).catch(() => token)) === token;
    if (!isOwed)
      await removeUnpackedOf(config.dataDir, token).catch((error: Error) => tell(`what the restore had unpacked stays: ${error.message}`));
    // What was refused leaves nothing. A folder with something in it stays.
    if (isNew) await rmdir(config.dataDir).catch(() => undefined);
  }
}

function assertFits(config: AppConfig, { database, citiesRoot }: Manifest): void {
  if (database === 'files' && config.databaseUrl !== undefined)
    throw new Error('this is the backup of an embedded database: restore it without SVC_DATABASE_URL');
  if (database === 'dump' && config.databaseUrl === undefined)
    throw new Error('this is the backup of a database of your own: name the one to restore it to with SVC_DATABASE_URL');
  if (citiesRoot !== config.citiesRoot)
    throw new Error(`its cities were in ${citiesRoot}, and are known by that: restore it there (SVC_CITIES_ROOT or SVC_DATA_DIR)`);
}

/** Files of another major version the server here does not read, and it would say so only when what was there is moved aside. */
async function assertReads({ database, server }: Manifest): Promise<void> {
  if (database !== 'files') return;
  const ours = majorOf(await run((await findBinaries()).postgres, ['--version']));
  if (ours === server) return;
  throw new Error(
    `these are files of PostgreSQL ${server}, and this release of svc has ${ours}: restore them with the release that wrote them`,
  );
}

/** Connections of the service. A start that is refused also looks which of several hosts takes writes. */
const OURS = `application_name like 'svc-%' and application_name not like 'svc-backup%' and application_name <> 'svc-look'`;
/** The same behind a pooler, which keeps its connections, under the name of whom it had last: each process listens past it. */
const OURS_PAST_POOLER = `application_name in ('svc-listen', 'svc-queue', 'svc-migrate')`;

/** @throws Error with these words where the service has connections to a database */
async function assertUnused({ databaseListenUrl }: AppConfig, client: pg.Client, words: string): Promise<void> {
  const { rows } = await client.query<{ used: boolean }>(
    `select exists (select from pg_stat_activity where datname = current_database()
        and ${databaseListenUrl === undefined ? OURS : OURS_PAST_POOLER}) as used`,
  );
  if (rows[0]!.used) throw new Error(words);
}

/** Answers whether there are tables in a database of one's own. @throws Error where something is there that is not to be replaced */
async function assertFree(config: AppConfig, database: string | undefined, replace: boolean): Promise<boolean> {
  let isUsed = false;
  const refuse = (what: string): never => {
    throw new Error(`${what}; --replace takes the place of it`);
  };
  if (database === undefined) {
    if (!replace && existsSync(join(config.dataDir, 'postgres', 'data'))) refuse(`there is a database in ${config.dataDir}`);
  } else {
    await withClient(await serversOf(database).current(), async (client) => {
      await assertUnused(config, client, 'the service runs on this database: stop all of it first');
      const { rows } = await client.query<{ there: boolean }>(
        `select exists (select from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace) as there`,
      );
      isUsed = rows[0]!.there;
      if (isUsed && !replace) refuse('the database is not empty');
    });
  }
  if (!replace && existsSync(config.citiesRoot)) refuse(`there is a folder ${config.citiesRoot}`);
  return isUsed;
}

async function placeFiles(config: AppConfig, folder: string): Promise<void> {
  const account = await chooseAccount(join(config.dataDir, 'postgres', 'data'), process.env.SUDO_UID);
  await makeWay(config.dataDir, account);
  const home = await prepareHome(config.dataDir, account);
  const data = join(home.directory, 'data');
  await move(join(folder, FILES), data);
  await copyFile(join(folder, PASSWORD), join(home.directory, 'password'));
  await chmod(data, 0o700);
  if (account !== undefined) await run('chown', ['-R', `${account.uid}:${account.gid}`, home.directory]);
}

/** Its SQLSTATE. */
const INSUFFICIENT_PRIVILEGE = '42501';

/**
 * What the database has stays, under another name, until somebody drops it. Extensions stay where they are: what is dumped later names their
 * schema. Those of an administrator he alone may put back there.
 */
async function schemasAside(url: string, stamp: string, token: string, tell: (line: string) => void): Promise<void> {
  await withClient(url, async (client) => {
    const { rows: extensions } = await client.query<{ name: string }>(
      `select quote_ident(extname) as name from pg_extension where extnamespace = 'public'::regnamespace and extrelocatable`,
    );
    const { rows: schemas } = await client.query<{ name: string }>(
      `select n.nspname as name from pg_namespace n where n.nspname in ('bullmq', 'public') order by 1`,
    );
    const kept = (name: string): string => `"${name}${ASIDE}${stamp}"`;
    await client.query('begin');
    for (const { name } of schemas) await client.query(`alter schema ${name} rename to ${kept(name)}`);
    await client.query('create schema public');
    await mark(client, token);
    const left: string[] = [];
    for (const { name } of extensions) {
      await client.query('savepoint extension');
      await client.query(`alter extension ${name} set schema public`).catch(async (error: Error) => {
        if ((error as { code?: string }).code !== INSUFFICIENT_PRIVILEGE) throw error;
        await client.query('rollback to savepoint extension');
        left.push(name);
      });
    }
    await client.query('commit');
    for (const { name } of schemas)
      tell(`the schema ${name} is now ${kept(name)}; drop it when it is not needed any more: drop schema ${kept(name)} cascade`);
    for (const name of left)
      tell(
        `the extension ${name} is an administrator's, and now in ${kept('public')}; before that is dropped he may say: alter extension ${name} set schema public`,
      );
  });
}
