import { existsSync } from 'node:fs';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { serversOf } from '../platform/database/servers.js';

const NAME = 'restore-begun';
/** What it begins with once the database is whole, and its log owes an epoch, or its cities are not in place. The token of the restore comes after it. */
const LOADED = 'loaded ';

const fileIn = (dataDir: string): string => join(dataDir, NAME);

/** @throws Error for one that cannot be read: what it says is not known then */
export const readIfThere = (file: string): Promise<string | undefined> =>
  readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });

/** Nothing in it is secret, and who starts the service may be another user, whatever the umask of this one. */
export async function writeForAll(file: string, text: string): Promise<void> {
  const fresh = `${file}.new`;
  const handle = await open(fresh, 'w');
  try {
    await handle.chmod(0o644);
    await handle.writeFile(text);
    // A machine that loses power would leave an empty one.
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(fresh, file);
}

/**
 * Marks the database of this data directory as none to serve from, before `moveAside`, which moves all that is there, or nothing: where it
 * fails the database is as it was.
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

/** Says that what the restore has loaded is whole: whoever may begin the epoch that its log owes, and put the rest back, may start. */
export async function oweEpoch(dataDir: string, token: string): Promise<void> {
  await writeForAll(fileIn(dataDir), `${LOADED}${token}`);
}

/** The token of the restore that has loaded its database and owes its log an epoch. */
export async function owedBy(dataDir: string): Promise<string | undefined> {
  const says = await readIfThere(fileIn(dataDir));
  return says?.startsWith(LOADED) ? says.slice(LOADED.length) : undefined;
}

/** Takes the mark of that restore away, and of no other, from the database at `url`, and then from the data directory. */
export async function endRestore(dataDir: string, url: string): Promise<void> {
  const token = await owedBy(dataDir);
  if (token === undefined) return;
  await asked(url, async (client) => {
    if ((await markOf(client)) === token) await client.query('drop table public.restore_not_ended');
  });
  await rm(fileIn(dataDir), { force: true });
}

/** @throws Error where a restore has not put all of its database there, or is about to */
export async function assertLoaded(dataDir: string): Promise<void> {
  if (existsSync(fileIn(dataDir)) && (await owedBy(dataDir)) === undefined)
    throw new Error(
      `a restore has not ended, or still runs (${fileIn(dataDir)}): the database is not whole; when none runs, run it again with --replace, or remove that file where the database was put in order otherwise`,
    );
}

/** @throws Error where a restore has not ended, or owes an epoch, which not every process may begin */
export async function assertNoneOwed(dataDir: string): Promise<void> {
  await assertLoaded(dataDir);
  if ((await owedBy(dataDir)) !== undefined)
    throw new Error(
      `a restore has not ended (${fileIn(dataDir)}): run that again with --replace, or start one process for all, or the migrate step, with this data directory`,
    );
}

/**
 * Marks a database of one's own as the file marks the data directory: who starts with another one sees this. Which restore it is of the comment
 * says: what an earlier one has left in a data directory lets nobody past.
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

/** @throws Error where a restore of the database at `url`, from whatever data directory, has not ended, other than the one with this token */
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
