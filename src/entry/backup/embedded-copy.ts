import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { isAnswer, isRetryable } from '../../platform/database/pg-errors.js';

/** What a base backup is without: what a server makes anew, or must not find. */
const EMPTY = new Set(['wal', 'replslot', 'dynshmem', 'notify', 'serial', 'snapshots', 'stat_tmp', 'subtrans'].map((name) => `pg_${name}`));
const LEFT_OUT = /^(postmaster\.(pid|opts)|backup_label.*|tablespace_map.*|pg_internal\.init.*|pgsql_tmp.*)$/;
const WAL = /^([0-9A-F]{24}|[0-9A-F]{8}\.history)$/;
/** Of one copy: the server has one of a name, and two may run at once, in two containers with one and the same number. */
const slot = (): string => `svc_backup_${randomUUID().replaceAll('-', '')}`;

/**
 * Copies the files of a server that runs, as its manual has it: between the two calls they may change under the copy, and the log of
 * that time, which goes with it, brings them to one moment. A slot of this connection keeps the log meanwhile.
 */
export async function copyRunning(url: string, data: string, into: string, signal?: AbortSignal): Promise<number> {
  const client = new pg.Client({ connectionString: url, application_name: 'svc-backup' });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { rows } = await client.query<{ level: string; version: string }>(
      `select current_setting('wal_level') as level, current_setting('server_version_num') as version`,
    );
    if (rows[0]!.level === 'minimal') throw new Error('the server was started by an earlier release: start it again, then back it up');
    await client.query('select pg_create_physical_replication_slot($1, true, true)', [slot()]);
    await client.query("select pg_backup_start('svc backup', true)");
    await copyFolder(data, into, 0, signal);
    const { rows: ended } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)');
    await writeFile(join(into, 'backup_label'), ended[0]!.labelfile, { mode: 0o600 });
    for (const name of await readdir(join(data, 'pg_wal')))
      if (WAL.test(name)) await copyIfThere(join(data, 'pg_wal', name), join(into, 'pg_wal', name));
    return Math.floor(Number(rows[0]!.version) / 10_000);
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function copyFolder(from: string, into: string, depth: number, signal: AbortSignal | undefined): Promise<void> {
  await mkdir(into, { mode: 0o700 });
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(into, entry.name)];
    signal?.throwIfAborted();
    if (LEFT_OUT.test(entry.name)) continue;
    if (entry.isDirectory()) {
      if (depth === 0 && EMPTY.has(entry.name)) await mkdir(target, { mode: 0o700 });
      else await copyFolder(source, target, depth + 1, signal);
    } else if (entry.isFile()) await copyIfThere(source, target);
  }
}

/** Files come and go while it is copied: the log knows of both. */
async function copyIfThere(from: string, into: string): Promise<void> {
  await copyFile(from, into, constants.COPYFILE_FICLONE).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}

/** The server that another process has started on these files has ended, is not there yet, or takes no connection: who looks again may find one, or start it. */
export class ServerGone extends Error {
  constructor(cause: unknown) {
    super(
      `the database that another process has started has ended, is not there yet, or takes no connection (${(cause as Error).message})`,
      { cause },
    );
  }
}

/** What a server says that ends, or begins, or has too many connections. Whatever else it answers, as that its disk is full, is no less true later. */
const GONE = new Set(['57P01', '57P02', '57P03', '53300']);

/** Works with the address of the server that another process has started on these files. @throws ServerGone */
export async function withRunning<T>(home: string, work: (url: string) => Promise<T>): Promise<T> {
  try {
    return await work(await addressOf(home));
  } catch (error) {
    const isGone = isRetryable(error) && (!isAnswer(error) || GONE.has((error as pg.DatabaseError).code ?? ''));
    throw isGone ? new ServerGone(error) : error;
  }
}

async function addressOf(home: string): Promise<string> {
  const [pid, password] = await Promise.all(
    [join('data', 'postmaster.pid'), 'password'].map((name) =>
      readFile(join(home, name), 'utf8').catch((error: NodeJS.ErrnoException) => {
        throw error.code === 'ENOENT' ? new ServerGone(error) : error;
      }),
    ),
  );
  const port = pid!.split('\n')[3]?.trim() ?? '';
  if (port === '') throw new ServerGone(new Error('it has not said its port'));
  return `postgres://svc:${password!.trim()}@127.0.0.1:${port}/svc`;
}
