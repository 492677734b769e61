import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, openSync, renameSync } from 'node:fs';
import { chown, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { sleep } from '../time/clock.js';
import type { Account } from './account.js';
import type { Binaries } from './binaries.js';
import type { Home } from './home.js';
import { commandOf, isAlive } from './processes.js';

export const DATABASE_USER = 'svc';

const STOP_FAST_MS = 3_000;
/** It ends at once, as soon as the disk has done what it was asked before. */
const STOP_IMMEDIATE_MS = 10_000;

const asAccount = (account: Account | undefined): { uid: number; gid: number } | Record<string, never> =>
  account === undefined ? {} : { uid: account.uid, gid: account.gid };

/** What the server's programs see of this process's environment: nothing that is ours. */
const ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

/**
 * The password of the database's only user; made once, readable by root and the server's account. @throws Error where that of a cluster is gone, or
 * may not be read: with another one nobody gets in
 */
export async function readPassword(home: Home): Promise<string> {
  const file = join(home.directory, 'password');
  const found = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return '';
  });
  if (found.trim() !== '') return found.trim();
  if (isCluster(join(home.directory, 'data')))
    throw new Error(
      `the password of the database is gone from ${file}: put it back, every backup of this database has it (tar -xzf BACKUP password)`,
    );
  const password = randomBytes(24).toString('base64url');
  await writeFile(file, `${password}\n`, { mode: 0o600 });
  if (home.account !== undefined) await chown(file, home.account.uid, home.account.gid);
  return password;
}

const isCluster = (data: string): boolean => existsSync(join(data, 'PG_VERSION'));

/**
 * Makes the cluster unless it is there. Built beside its place and moved there when complete, so that a start cut
 * off half-way leaves nothing that looks like a cluster.
 */
export async function initialise(home: Home, binaries: Binaries, onStart: () => void): Promise<void> {
  const data = join(home.directory, 'data');
  if (isCluster(data)) return;
  onStart();
  const fresh = join(home.directory, 'data.new');
  await rm(fresh, { recursive: true, force: true });
  await mkdir(fresh, { mode: 0o700 });
  if (home.account !== undefined) await chown(fresh, home.account.uid, home.account.gid);
  await run(binaries.initdb, home.account, [
    `--pgdata=${fresh}`,
    `--username=${DATABASE_USER}`,
    `--pwfile=${join(home.directory, 'password')}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
  ]);
  await rename(fresh, data);
}

function run(program: string, account: Account | undefined, args: string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { ...asAccount(account), cwd: '/', env: ENVIRONMENT, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.once('error', reject);
    child.once('close', (code) => (code === 0 ? resolve() : reject(new Error(`${program} failed:\n${output.trim()}`))));
  });
}

/** Stops a server that a killed supervisor has left behind on `data`, and removes a pid file that means nobody. */
export async function clearOrphan(data: string): Promise<void> {
  const file = join(data, 'postmaster.pid');
  const pid = await readFile(file, 'utf8').then(
    (text) => Number.parseInt(text, 10),
    () => NaN,
  );
  if (Number.isNaN(pid)) return;
  if (isAlive(pid) && (commandOf(pid) ?? '').includes(data)) await stopProcess(pid);
  // A number that another program uses by now would make the server refuse to start.
  await rm(file, { force: true });
}

async function stopProcess(pid: number): Promise<void> {
  for (const [signal, limit] of [
    ['SIGINT', STOP_FAST_MS],
    ['SIGQUIT', STOP_IMMEDIATE_MS],
  ] as const) {
    if (!isAlive(pid)) return;
    process.kill(pid, signal);
    const until = Date.now() + limit;
    while (isAlive(pid) && Date.now() < until) await sleep(20);
  }
  if (isAlive(pid)) throw new Error(`the PostgreSQL server ${pid} that an earlier start left behind cannot be stopped`);
}

/** The server's process, in a session of its own: Ctrl-C reaches the supervisor only, which stops it last. */
export class ServerProcess {
  readonly exited: Promise<number | null>;
  #exited = false;

  private constructor(
    private readonly child: ChildProcess,
    readonly port: number,
    readonly log: string,
  ) {
    this.exited = new Promise((resolve) => {
      child.once('error', () => resolve(null));
      child.once('exit', (code) => resolve(code));
    });
    void this.exited.then(() => (this.#exited = true));
  }

  static async start(home: Home, binaries: Binaries, settings: Readonly<Record<string, string>>): Promise<ServerProcess> {
    const log = join(home.directory, 'server.log');
    const port = await freePort();
    // Why the last one ended is looked for after the next has begun.
    if (existsSync(log)) renameSync(log, `${log}.1`);
    const out = openSync(log, 'w', 0o600);
    const flags = Object.entries({ ...settings, port: String(port) }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    try {
      const child = spawn(binaries.postgres, ['-D', join(home.directory, 'data'), ...flags], {
        ...asAccount(home.account),
        cwd: '/',
        env: ENVIRONMENT,
        detached: true,
        stdio: ['ignore', out, out],
      });
      return new ServerProcess(child, port, log);
    } finally {
      closeSync(out);
    }
  }

  get running(): boolean {
    return !this.#exited;
  }

  /** Fast shutdown; immediate, which loses nothing and recovers at the next start, when that takes too long. */
  async stop(): Promise<void> {
    this.child.kill('SIGINT');
    const over = new AbortController();
    void this.exited.then(() => over.abort());
    await sleep(STOP_FAST_MS, over.signal);
    if (this.running) this.child.kill('SIGQUIT');
    await this.exited;
  }

  /** Immediate shutdown, not waited for. */
  quit(): void {
    this.child.kill('SIGQUIT');
  }

  async lastLines(): Promise<string> {
    const text = await readFile(this.log, 'utf8').catch(() => '');
    return text.trim().split('\n').slice(-15).join('\n');
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
