import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, chown, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepareDatabase } from '../../src/entry/schema.js';
import type { AppConfig } from '../../src/platform/config/config.js';
import { freePort } from './redis.js';
import { eventually } from './sse.js';

/** The pooler, as a package of the system has it, or `PGBOUNCER`. Undefined when there is none. */
export const pgbouncerPath = [process.env.PGBOUNCER, '/usr/sbin/pgbouncer', '/usr/bin/pgbouncer', '/opt/homebrew/bin/pgbouncer'].find(
  (path) => path !== undefined && existsSync(path),
);

export interface Pgbouncer {
  /** A database of the tests' server, through it, prepared as the migrate step does it. */
  through(databaseUrl: string, config: AppConfig): Promise<string>;
  stop(): Promise<void>;
}

/** What the documentation says of it. @throws Error where it says that no more */
async function advised(): Promise<string> {
  const [, settings] = /^\[pgbouncer\]\n([^`]+)```/m.exec(await readFile('docs/how-to/cluster.md', 'utf8')) ?? [];
  if (settings === undefined) throw new Error('the documentation has no settings of PgBouncer');
  return settings;
}

/** Pools by transactions, over few connections, so that statements of one client meet those of others. */
export async function startPgbouncer({ connections }: { readonly connections: number }): Promise<Pgbouncer> {
  const to = new URL(process.env.SVC_TEST_SERVER_URL!);
  const dir = await mkdtemp(join(tmpdir(), 'svc-pgbouncer-'));
  const port = await freePort();
  const password = decodeURIComponent(to.password);
  await writeFile(
    join(dir, 'pgbouncer.ini'),
    `[databases]
* = host=127.0.0.1 port=${to.port || 5432} user=${to.username}${password === '' ? '' : ` password='${password}'`} connect_query='select follow_log_server()'
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
admin_users = ${to.username}
${await advised()}default_pool_size = ${connections}
max_client_conn = 500
server_idle_timeout = 1
`,
  );
  // It does not run as root.
  const as = process.getuid?.() === 0 ? nobody() : undefined;
  await chmod(dir, 0o755);
  if (as !== undefined) await chown(dir, as.uid, as.gid);
  const child = spawn(pgbouncerPath!, [join(dir, 'pgbouncer.ini')], { stdio: ['ignore', 'ignore', 'pipe'], ...as });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const ended = new Promise((resolve) => child.once('close', resolve));
  await eventually(() => said.includes('process up') || child.exitCode !== null);
  if (child.exitCode !== null) throw new Error(`pgbouncer has ended:\n${said}`);
  return {
    through: async (databaseUrl, config) => {
      await prepareDatabase(config.with({ databaseListenUrl: databaseUrl }), databaseUrl);
      return `postgres://${to.username}@127.0.0.1:${port}${new URL(databaseUrl).pathname}`;
    },
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
      await rm(dir, { recursive: true, force: true });
    },
  };
}

function nobody(): { uid: number; gid: number } {
  const [, uid, gid] = /^nobody:[^:]*:(\d+):(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8'))!;
  return { uid: Number(uid), gid: Number(gid) };
}
