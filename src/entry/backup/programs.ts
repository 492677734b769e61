import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Runs a program to its end; what it writes is shown when it fails. @throws Error */
export function run(program: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, [...args], { stdio: ['ignore', 'pipe', 'pipe'], env });
    let out = '';
    let err = '';
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (err = (err + chunk.toString()).slice(-4_000)));
    child.once('error', reject);
    child.once('close', (code) => (code === 0 ? resolve(out) : reject(new Error(`${program} failed (${code}):\n${err.trim()}`))));
  });
}

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
    const version = Number(/ (\d+)/.exec(await run(path, ['--version']).catch(() => ''))?.[1] ?? 0);
    if (version >= server) found.push({ path, version });
  }
  const [best] = found.sort((a, b) => a.version - b.version);
  if (best !== undefined) return best.path;
  throw new Error(
    `the server is PostgreSQL ${server}, and there is no ${program} of that version here: install postgresql-client-${server} ` +
      '(Debian, Ubuntu: from apt.postgresql.org where the system has an older one)',
  );
}
