import { execFile } from 'node:child_process';
import { appendFile, chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { migrateAll } from '../../src/entry/schema.js';
import { startEmbedded, type EmbeddedPostgres } from '../../src/platform/embedded/embedded-postgres.js';
import { adminAt } from './database.js';
import { eventually } from './sse.js';

const SERVES_STANDBYS = { wal_level: 'replica', max_wal_senders: '4', wal_keep_size: '64MB', fsync: 'off' };

/** A primary and a standby that follows it, which can take over. */
export interface PostgresPair {
  /** Both of them, as `SVC_DATABASE_URL` names them. */
  readonly url: string;
  readonly primary: string;
  readonly standby: string;
  /** `kill -9` of the primary. */
  killPrimary(): Promise<void>;
  /** From now on the standby gets nothing any more. */
  cut(): Promise<void>;
  promote(): Promise<void>;
  stop(): Promise<void>;
}

/** @param synchronous a commit is acknowledged once the standby has it too */
export async function startPair(synchronous: boolean): Promise<PostgresPair> {
  const dirs = await Promise.all(['svc-primary-', 'svc-standby-'].map((name) => mkdtemp(join(tmpdir(), name))));
  // The servers have an account of their own where this runs as root.
  await Promise.all(dirs.map((dir) => chmod(dir, 0o755)));
  const [one, two] = dirs as [string, string];
  const started: EmbeddedPostgres[] = [];
  const start = async (dir: string, settings: Record<string, string>): Promise<EmbeddedPostgres> => {
    const server = await startEmbedded(dir, { settings: { ...SERVES_STANDBYS, ...settings } });
    started.push(server);
    return server;
  };
  const stop = async (): Promise<void> => {
    for (const server of started.reverse()) await server.stop();
    await Promise.all(dirs.map((dir) => rm(dir, { recursive: true, force: true })));
  };
  try {
    const first = await start(one, {});
    await migrateAll(first.url);
    await first.stop();
    // With its owners.
    await promisify(execFile)('cp', ['-a', join(one, 'postgres'), join(two, 'postgres')]);
    const primary = await start(one, synchronous ? { synchronous_standby_names: '*' } : {});
    const at = new URL(primary.url);
    const data = join(two, 'postgres', 'data');
    const conninfo = `host=127.0.0.1 port=${at.port} user=${at.username} password=${at.password} application_name=standby`;
    await writeFile(join(data, 'standby.signal'), '');
    await appendFile(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${conninfo}'\n`);
    const standby = await start(two, {});
    await eventually(async () => (await adminAt(primary.url, "select from pg_stat_replication where state = 'streaming'")).length > 0);
    const { port } = new URL(standby.url);
    return {
      url: `${at.protocol}//${at.username}:${at.password}@127.0.0.1:${at.port},127.0.0.1:${port}${at.pathname}?target_session_attrs=read-write`,
      primary: primary.url,
      standby: standby.url,
      killPrimary: async () => {
        process.kill(Number.parseInt(await readFile(join(one, 'postgres', 'data', 'postmaster.pid'), 'utf8'), 10), 'SIGKILL');
        await primary.lost;
      },
      cut: async () => {
        await adminAt(standby.url, "alter system set primary_conninfo = 'host=127.0.0.1 port=1'");
        await adminAt(standby.url, 'select pg_reload_conf()');
        await eventually(
          async () => (await adminAt(standby.url, "select from pg_stat_wal_receiver where status = 'streaming'")).length === 0,
        );
      },
      promote: async () => {
        await adminAt(standby.url, 'select pg_promote()');
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}
