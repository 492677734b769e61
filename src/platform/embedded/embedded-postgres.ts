import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { chooseAccount, type Account } from './account.js';
import { findBinaries } from './binaries.js';
import { clearOrphan, DATABASE_USER, initialise, readPassword, ServerProcess } from './cluster.js';
import { makeWay, prepareHome, reachableBinaries } from './home.js';
import { lockDirectory, type DirectoryLock } from './lock.js';
import { DATABASE, ready } from './ready.js';

/**
 * The embedded room: a PostgreSQL server of the supervisor's own in its data directory. It promises that one
 * supervisor uses a directory at a time, that nothing it started outlives an orderly stop, and that a start after
 * a SIGKILL finds everything that was committed. It listens on the loopback address only, behind a random password.
 */
export interface EmbeddedPostgres {
  readonly url: string;
  /** Where its files are, by its real path. */
  readonly directory: string;
  /** Resolves when the server has ended without having been asked to. */
  readonly lost: Promise<void>;
  /** Stops the server and gives the directory back. Safe to call twice. */
  stop(): Promise<void>;
  /** Ends the server at once, without waiting; its next start recovers. */
  abandon(): void;
}

export interface EmbeddedOptions {
  /** Said before the steps that take time, for a person who waits. */
  readonly onStep?: (what: string) => void;
  /** Said when the files of the server are not in the data directory. */
  readonly onElsewhere?: (what: string) => void;
  /** False for throw-away servers of tests only. */
  readonly durable?: boolean;
  /** The account that has called sudo, from the environment. */
  readonly sudoUid?: string | undefined;
  readonly settings?: Readonly<Record<string, string>>;
  /** Ends a start that waits, as for a recovery, or for a lock of another host. */
  readonly signal?: AbortSignal | undefined;
}

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '100',
  shared_buffers: '128MB',
  // Enough for a copy of the files while it runs.
  wal_level: 'replica',
  max_wal_senders: '0',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // Its log is one file as long as it runs: refusals that are answered by trying again are ordinary, and take a line each.
  log_checkpoints: 'off',
  log_min_error_statement: 'panic',
};
const THROW_AWAY = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '800', autovacuum: 'off' };

/** @throws DirectoryInUse when another supervisor runs on `dataDir`; Error with the server's last lines when it does not start. */
export async function startEmbedded(dataDir: string, options: EmbeddedOptions = {}): Promise<EmbeddedPostgres> {
  const account = await chooseAccount(join(dataDir, 'postgres', 'data'), options.sudoUid);
  await makeWay(dataDir, account);
  const lock = await lockDirectory(dataDir, options);
  try {
    return await startLocked(dataDir, lock, account, options);
  } catch (error) {
    await lock.release();
    throw error;
  }
}

async function startLocked(
  dataDir: string,
  lock: DirectoryLock,
  account: Account | undefined,
  options: EmbeddedOptions,
): Promise<EmbeddedPostgres> {
  const home = await prepareHome(dataDir, account, options.onElsewhere);
  const binaries = await reachableBinaries(await findBinaries(), home);
  await clearOrphan(join(home.directory, 'data'));
  const password = await readPassword(home);
  options.signal?.throwIfAborted();
  await initialise(home, binaries, () => options.onStep?.('making the database (once)'));
  const settings = { ...SETTINGS, ...(options.durable === false ? THROW_AWAY : {}), ...options.settings };
  const server = await ServerProcess.start(home, binaries, settings);
  const url = (database: string): string => `postgres://${DATABASE_USER}:${password}@127.0.0.1:${server.port}/${database}`;
  let stopped: Promise<void> | undefined;
  const end = async (): Promise<void> => {
    try {
      await server.stop();
    } finally {
      await lock.release();
    }
  };
  const stop = (): Promise<void> => (stopped ??= end());
  try {
    await ready(server, url('postgres'), options);
  } catch (error) {
    await stop();
    throw error;
  }
  const lost = server.exited.then(() => (stopped === undefined ? undefined : new Promise<void>(() => undefined)));
  return { url: url(DATABASE), directory: await realpath(home.directory), lost, stop, abandon: () => server.quit() };
}
