import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import pg from 'pg';

export interface Running {
  readonly env?: NodeJS.ProcessEnv;
  /** Ends the program. */
  readonly signal?: AbortSignal | undefined;
  /** How much of the end of what it says is kept, in characters. */
  readonly kept?: number;
}

/** A program that has not ended with 0. */
export class ProgramFailed extends Error {
  constructor(
    program: string,
    readonly code: number | null,
    readonly said: string,
  ) {
    super(`${program} failed (${code}):\n${said.slice(-SAID)}`);
  }
}

const SAID = 4_000;

/**
 * Runs a program to its end; what it writes is shown when it fails.
 *
 * @throws ProgramFailed; the reason of `signal` where that has ended it, once it is gone
 */
export function run(program: string, args: readonly string[], { env = process.env, signal, kept = SAID }: Running = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const child = spawn(program, [...args], { stdio: ['ignore', 'pipe', 'pipe'], env });
    const end = (): void => void child.kill();
    signal?.addEventListener('abort', end, { once: true });
    let out = '';
    let err = '';
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (err = (err + chunk.toString()).slice(-kept)));
    child.once('error', reject);
    child.once('close', (code) => {
      signal?.removeEventListener('abort', end);
      if (code === 0) resolve(out);
      else reject(signal?.aborted === true ? (signal.reason as Error) : new ProgramFailed(program, code, err.trim()));
    });
  });
}

/** Has all of the file system of a path on its disk. Where that cannot be, a machine that loses power just now may lose what is new. */
export async function flush(path: string): Promise<void> {
  await run('sync', ['-f', path]).catch(() => undefined);
}

export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, application_name: 'svc-backup', connectionTimeoutMillis: 10_000 });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** The version of PostgreSQL at an address. */
export function versionOf(url: string): Promise<number> {
  return withClient(url, async (client) => {
    const { rows } = await client.query<{ n: string }>(`select current_setting('server_version_num') as n`);
    return Math.floor(Number(rows[0]!.n) / 10_000);
  });
}

/** The version that a program of PostgreSQL says it has; 0 where it says none. */
export const majorOf = (said: string): number => Number(/ (\d+)/.exec(said)?.[1] ?? 0);

/** Where packages of systems put the programs of one version of PostgreSQL. */
const PLACES: readonly [folder: string, bin: string][] = [
  ['/usr/lib/postgresql', 'bin'],
  ['/usr/local/opt', 'bin'],
  ['/opt/homebrew/opt', 'bin'],
];

function candidates(program: string): string[] {
  const places = (process.env.PATH ?? '').split(delimiter).filter((place) => place !== '');
  for (const [folder, bin] of PLACES)
    if (existsSync(folder)) for (const version of readdirSync(folder)) places.push(join(folder, version, bin));
  return [...new Set(places.map((place) => join(place, program)))].filter((path) => existsSync(path));
}

/**
 * A program of PostgreSQL that fits a server: of its version, else of the oldest newer one, which reads what an older server has.
 *
 * @throws Error with the package's name
 */
export async function programFor(program: 'pg_dump' | 'pg_restore', server: number): Promise<string> {
  const found: { path: string; version: number }[] = [];
  for (const path of candidates(program)) {
    const version = majorOf(await run(path, ['--version']).catch(() => ''));
    if (version >= server) found.push({ path, version });
  }
  const [best] = found.sort((a, b) => a.version - b.version);
  if (best !== undefined) return best.path;
  throw new Error(
    `the server is PostgreSQL ${server}, and there is no ${program} of that version here: install postgresql-client-${server} ` +
      '(Debian, Ubuntu: from apt.postgresql.org where the system has an older one)',
  );
}
