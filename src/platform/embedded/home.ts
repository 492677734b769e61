import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, chown, cp, lstat, mkdir, readFile, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { canEnter, canRun, type Account } from './account.js';
import type { Binaries } from './binaries.js';

const run = promisify(execFile);

/** Where a server that may not enter the data directory keeps its files. */
const SYSTEM_ROOT = '/var/lib/supervisor-control-plane';

/** The server's own folder: `data`, `password`, `server.log`, and a copy of the programs when it needs one. */
export interface Home {
  readonly directory: string;
  readonly account: Account | undefined;
}

/**
 * `<dataDir>/postgres`, of a `dataDir` that is there. As root, the account of the server may be unable to enter it (a home directory of mode
 * 700): then the folder lies under /var/lib, and `postgres` is a link to it. What is in it already is moved there. Each start says so.
 */
export async function prepareHome(
  dataDir: string,
  account: Account | undefined,
  onElsewhere?: (what: string) => void,
  systemRoot = SYSTEM_ROOT,
): Promise<Home> {
  const elsewhere = (directory: string): Promise<Home> => {
    onElsewhere?.(`the database of ${dataDir} is in ${directory}: the account that it runs as${named(account)} could not enter ${dataDir}`);
    return own({ directory, account });
  };
  const near = join(dataDir, 'postgres');
  await finishMove(near);
  const linked = await readlink(near).catch(() => undefined);
  if (linked !== undefined) {
    if (existsSync(linked)) return elsewhere(linked);
    throw new Error(`the database of ${dataDir} lay in ${linked}, which is gone: restore it, or remove ${near} to begin with an empty one`);
  }
  const home = await own({ directory: near, account });
  if (canEnter(account, near)) return home;
  const far = join(systemRoot, `${basename(dirname(dataDir)) || 'data'}-${randomBytes(4).toString('hex')}`);
  try {
    await makeWay(systemRoot, account);
    if (!canEnter(account, systemRoot)) throw new Error(`${systemRoot} cannot be entered`);
    await move(near, far);
  } catch (error) {
    throw unreachable(dataDir, account, error);
  }
  return elsewhere(far);
}

/** A link that is to take the place of a folder, and the folder while that is removed: who is killed in between loses sight of nothing. */
const linkOf = (near: string): string => `${near}.new`;
const restOf = (near: string): string => `${near}.moved`;

/** Moves a folder with its owners and modes, across file systems too, and leaves a link in its place. */
async function move(near: string, far: string): Promise<void> {
  await symlink(far, linkOf(near));
  try {
    await rename(near, far);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    await run('cp', ['-a', near, far]);
    await rename(near, restOf(near));
  }
  await finishMove(near);
}

/** Does what a move has left to do once the folder has gone from its place; before that there was none. */
async function finishMove(near: string): Promise<void> {
  const next = linkOf(near);
  const isThere = (at: string): Promise<boolean> =>
    lstat(at).then(
      () => true,
      () => false,
    );
  if ((await isThere(next)) && !(await isThere(near))) await rename(next, near);
  await rm(next, { force: true });
  if ((await readlink(near).catch(() => undefined)) !== undefined) await rm(restOf(near), { recursive: true, force: true });
}

/** The programs, copied beside the data when the account cannot run them where npm has put them. */
export async function reachableBinaries(binaries: Binaries, home: Home): Promise<Binaries> {
  if (canRun(home.account, binaries.postgres)) return binaries;
  const root = join(home.directory, 'programs');
  const copied: Binaries = {
    root,
    initdb: join(root, 'bin', basename(binaries.initdb)),
    postgres: join(root, 'bin', basename(binaries.postgres)),
  };
  if (!canRun(home.account, copied.postgres) || !(await sameRelease(binaries, copied))) {
    const fresh = `${root}.new`;
    await rm(fresh, { recursive: true, force: true });
    await cp(binaries.root, fresh, { recursive: true, verbatimSymlinks: true });
    await writeFile(join(fresh, 'origin'), await release(binaries));
    await rm(root, { recursive: true, force: true });
    await rename(fresh, root);
  }
  if (!canRun(home.account, copied.postgres)) throw new Error(`${copied.postgres} cannot be run${as(home.account)}`);
  return copied;
}

async function own(home: Home): Promise<Home> {
  await mkdir(home.directory, { recursive: true, mode: 0o700 });
  if (home.account !== undefined) await chown(home.directory, home.account.uid, home.account.gid);
  return home;
}

/**
 * Makes a folder, and those above it, for everybody to enter. The mask of new files of a hardened host would close them for the
 * server's account. What is there already stays as its owner wants it.
 */
export async function makeWay(directory: string, account: Account | undefined): Promise<void> {
  const first = await mkdir(directory, { recursive: true, mode: 0o755 });
  if (account === undefined || first === undefined) return;
  for (let at = resolve(directory); ; at = dirname(at)) {
    await chmod(at, 0o755);
    if (at === resolve(first)) return;
  }
}

const release = (binaries: Binaries): Promise<string> =>
  readFile(join(binaries.root, '..', 'package.json'), 'utf8').then((t) => String((JSON.parse(t) as { version?: unknown }).version));

async function sameRelease(origin: Binaries, copy: Binaries): Promise<boolean> {
  const [wanted, have] = await Promise.all([release(origin), readFile(join(copy.root, 'origin'), 'utf8').catch(() => '')]);
  return wanted === have;
}

const as = (account: Account | undefined): string => (account === undefined ? '' : ` as "${account.name}"`);

const named = (account: Account | undefined): string => (account === undefined ? '' : `, "${account.name}",`);

function unreachable(dataDir: string, account: Account | undefined, cause: unknown): Error {
  return new Error(
    `PostgreSQL does not run as root, and the account it runs as${named(account)} can enter neither ${dataDir} nor ${SYSTEM_ROOT}: ` +
      'set SVC_DATA_DIR to a directory that everybody may enter, start as an ordinary user, or set SVC_DATABASE_URL',
    { cause },
  );
}
