import { execFile, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from './redis.js';
import { eventually } from './sse.js';

const HOME = '/usr/lib/postgresql';

/** Where a package of the system has a server together with its own `pg_dump`; the embedded one comes without. Undefined when there is none. */
export const packagedPrograms = (existsSync(HOME) ? readdirSync(HOME) : [])
  .sort((a, b) => Number(b) - Number(a))
  .map((version) => join(HOME, version, 'bin'))
  .find((bin) => ['initdb', 'postgres', 'pg_dump', 'pg_restore', 'createdb'].every((program) => existsSync(join(bin, program))));

export interface PackagedServer {
  /** As `postgres`, without a database. */
  readonly url: string;
  stop(): Promise<void>;
}

/** A server that lets everybody of this machine in and that nothing survives of. */
export async function startPackagedPostgres(bin: string): Promise<PackagedServer> {
  const data = await mkdtemp(join(tmpdir(), 'svc-packaged-pg-'));
  // No server of PostgreSQL runs as root.
  const as = process.getuid?.() === 0 ? account('postgres') : undefined;
  if (as !== undefined) await chown(data, as.uid, as.gid);
  const env = { PATH: `${bin}:/usr/bin:/bin`, LC_ALL: 'C' };
  const init = ['--pgdata', data, '--username', 'postgres', '--auth', 'trust', '--encoding', 'UTF8', '--no-locale', '--no-sync'];
  await promisify(execFile)(join(bin, 'initdb'), init, { cwd: '/', env, ...as });
  const port = await freePort();
  const settings = [`port=${port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=', 'fsync=off', 'max_connections=100'];
  const args = ['-D', data, ...settings.flatMap((setting) => ['-c', setting])];
  const server = spawn(join(bin, 'postgres'), args, { cwd: '/', env, stdio: ['ignore', 'ignore', 'pipe'], ...as });
  let said = '';
  server.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const ended = new Promise((resolve) => server.once('close', resolve));
  await eventually(() => said.includes('ready to accept connections') || server.exitCode !== null);
  if (server.exitCode !== null) throw new Error(`PostgreSQL has ended:\n${said}`);
  return {
    url: `postgres://postgres@127.0.0.1:${port}`,
    stop: async () => {
      server.kill('SIGINT');
      await ended;
      await rm(data, { recursive: true, force: true });
    },
  };
}

export function account(name: string): { uid: number; gid: number } {
  const [, uid, gid] = new RegExp(`^${name}:[^:]*:(\\d+):(\\d+):`, 'm').exec(readFileSync('/etc/passwd', 'utf8')) ?? [];
  if (uid === undefined) throw new Error(`there is no user ${name}`);
  return { uid: Number(uid), gid: Number(gid) };
}
