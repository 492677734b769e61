import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chown, cp, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { canEnter, canRun, type Account } from './account.js';
import type { Binaries } from './binaries.js';

/** Where a server that may not enter the data directory keeps its files. */
const SYSTEM_ROOT = '/var/lib/supervisor-control-plane';

/** The server's own folder: `data`, `password`, `server.log`, and a copy of the programs when it needs one. */
export interface Home {
  readonly directory: string;
  readonly account: Account | undefined;
}

/**
 * `<dataDir>/postgres`. As root, the account of the server may be unable to enter it (a home directory of mode
 * 700): then the folder lies under /var/lib and the data directory holds a link to it and its name.
 */
export async function prepareHome(dataDir: string, account: Account | undefined): Promise<Home> {
  const near = join(dataDir, 'postgres');
  const pointer = join(dataDir, 'postgres.path');
  const recorded = await readFile(pointer, 'utf8').then(
    (text) => text.trim(),
    () => undefined,
  );
  if (recorded !== undefined && recorded !== '') {
    if (existsSync(recorded)) return own({ directory: recorded, account });
    throw new Error(
      `the database of ${dataDir} lay in ${recorded}, which is gone: restore it, or remove ${pointer} to begin with an empty one`,
    );
  }
  const home = await own({ directory: near, account });
  if (canEnter(account, near)) return home;
  await rm(near, { recursive: true, force: true }); // just made, empty: nobody could enter it
  const far = join(SYSTEM_ROOT, `${basename(dirname(dataDir)) || 'data'}-${randomBytes(4).toString('hex')}`);
  const moved = await own({ directory: far, account }).catch((error: unknown) => {
    throw unreachable(dataDir, account, error);
  });
  if (!canEnter(account, far)) throw unreachable(dataDir, account, undefined);
  await writeFile(pointer, `${far}\n`);
  await symlink(far, near);
  return moved;
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
  await mkdir(dirname(home.directory), { recursive: true, mode: 0o755 });
  await mkdir(home.directory, { recursive: true, mode: 0o700 });
  if (home.account !== undefined) await chown(home.directory, home.account.uid, home.account.gid);
  return home;
}

const release = (binaries: Binaries): Promise<string> =>
  readFile(join(binaries.root, '..', 'package.json'), 'utf8').then((t) => String((JSON.parse(t) as { version?: unknown }).version));

async function sameRelease(origin: Binaries, copy: Binaries): Promise<boolean> {
  const [wanted, have] = await Promise.all([release(origin), readFile(join(copy.root, 'origin'), 'utf8').catch(() => '')]);
  return wanted === have;
}

const as = (account: Account | undefined): string => (account === undefined ? '' : ` as "${account.name}"`);

function unreachable(dataDir: string, account: Account | undefined, cause: unknown): Error {
  return new Error(
    `PostgreSQL does not run as root, and the account it runs as${as(account)} can enter neither ${dataDir} nor ${SYSTEM_ROOT}: ` +
      'set SVC_DATA_DIR to a directory that everybody may enter, start as an ordinary user, or set SVC_DATABASE_URL',
    { cause },
  );
}
