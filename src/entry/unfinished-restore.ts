import { existsSync } from 'node:fs';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { serversOf } from '../platform/database/servers.js';

const NAME = 'restore-begun';
/** The file begins with this, before the token of the restore, once the database is loaded and the epoch or the cities are still to come. */
const LOADED = 'loaded ';

const fileIn = (dataDir: string): string => join(dataDir, NAME);

/** The text of a file; undefined if it does not exist. @throws Error when it cannot be read */
export const readIfThere = (file: string): Promise<string | undefined> =>
  readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });

/** Writes a file that every user may read, whatever the umask: the service may be started by another user. For nothing secret. */
export async function writeForAll(file: string, text: string): Promise<void> {
  const fresh = `${file}.new`;
  const handle = await open(fresh, 'w');
  try {
    await handle.chmod(0o644);
    await handle.writeFile(text);
    // Otherwise a power loss could leave an empty file.
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(fresh, file);
}

/**
 * Marks this data directory, so that no process serves from its database, and calls `moveAside`. That moves everything or nothing: when it fails, the mark is taken
 * back.
 */
export async function beginRestore(dataDir: string, moveAside: () => Promise<void>): Promise<void> {
  const before = await readIfThere(fileIn(dataDir));
  await writeForAll(fileIn(dataDir), '');
  try {
    await moveAside();
  } catch (error) {
    if (before === undefined) await rm(fileIn(dataDir), { force: true });
    else await writeForAll(fileIn(dataDir), before);
    throw error;
  }
}

/** Notes that the database is loaded. From now on a process may start that can begin the epoch and put the rest back. */
export async function oweEpoch(dataDir: string, token: string): Promise<void> {
  await writeForAll(fileIn(dataDir), `${LOADED}${token}`);
}

/** The token of the restore that has loaded its database and owes its log an epoch. */
export async function owedBy(dataDir: string): Promise<string | undefined> {
  const says = await readIfThere(fileIn(dataDir));
  return says?.startsWith(LOADED) ? says.slice(LOADED.length) : undefined;
}

/** Takes away the mark of this data directory's restore: from the database at `url`, unless that has the mark of another, and then from the directory. */
export async function endRestore(dataDir: string, url: string): Promise<void> {
  const token = await owedBy(dataDir);
  if (token === undefined) return;
  await asked(url, async (client) => {
    if ((await markOf(client)) === token) await client.query('drop table public.restore_not_ended');
  });
  await rm(fileIn(dataDir), { force: true });
}

/** @throws Error when a restore has not loaded its database */
export async function assertLoaded(dataDir: string): Promise<void> {
  if (existsSync(fileIn(dataDir)) && (await owedBy(dataDir)) === undefined)
    throw new Error(
      `a restore has not ended, or still runs (${fileIn(dataDir)}): the database is not whole; when none runs, run it again with --replace, or remove that file where the database was put in order otherwise`,
    );
}

/** @throws Error when a restore has not ended, or owes an epoch. For processes that may not begin one */
export async function assertNoneOwed(dataDir: string): Promise<void> {
  await assertLoaded(dataDir);
  if ((await owedBy(dataDir)) !== undefined)
    throw new Error(
      `a restore has not ended (${fileIn(dataDir)}): run that again with --replace, or start one process for all, or the migrate step, with this data directory`,
    );
}

/**
 * Marks an external database as the file marks the data directory: a process with another data directory sees this. The comment of the table is the token of the
 * restore, so that the file of an earlier restore lets no process past it.
 */
export async function mark(client: pg.Client, token: string): Promise<void> {
  await client.query(
    `create table public.restore_not_ended (); comment on table public.restore_not_ended is ${client.escapeLiteral(token)}`,
  );
}

/** The token of the restore that has marked a database. */
async function markOf(client: pg.Client): Promise<string | undefined> {
  const { rows } = await client.query<{ token: string }>(
    `select coalesce(obj_description(oid, 'pg_class'), '') as token from pg_class where oid = to_regclass('public.restore_not_ended')`,
  );
  return rows[0]?.token;
}

/** @throws Error when a restore of the database at `url` has not ended, from whatever data directory; not for the restore with this token */
export async function assertWhole(url: string, token?: string): Promise<void> {
  const found = await asked(await serversOf(url).current(), markOf);
  if (found !== undefined && found !== token)
    throw new Error(
      'a restore of this database has not ended, or still runs (it has the table public.restore_not_ended): when none runs, run it again with --replace, or the migrate step with the data directory that it had',
    );
}

export async function asked<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: 'svc-backup', connectionTimeoutMillis: 10_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}
