import { chmod, chown, copyFile, lstat, mkdir, mkdtemp, readdir, realpath, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { HostBusy, UnconfirmedDead, type Sandbox } from '../runtime/port.js';
import { listProcesses } from '../runtime/process-table.js';
import { removeTree } from '../runtime/preparation/remove-tree.js';
import { copyTree, type CopyLimits } from './copied-tree.js';
import type { HostLock } from './host-lock.js';
import { removeLeft } from './left-files.js';
import { give, pass, regain } from './shared-folders.js';
import type { LentFor, Users } from './users.js';

const WAIT_MS = 30_000;
/** Between looks for a user that is free, doubled each time: each look asks for a lock in a process of its own. */
const AGAIN_MS = { first: 100, most: 500 };
/** Until what could not be ended is ended once more. */
const LATER_MS = 60_000;
/** Of files that are copied: how many, and bytes of one. */
const MAX_COPIED = 200;
const MAX_SIZE = 1024 * 1024;

/** Where in its home the copy of a folder is. */
export const COPY = 'copy';
/** Begins the names of homes. */
const HOME = 'svc-lent-';

export interface LentWork {
  /** Empty folders of the service's that are the user's meanwhile, and the folder from which on the way to them is opened. */
  readonly folders: readonly string[];
  readonly below: string;
  /** Files and folders of the service's home that it gets a copy of; what is large in them is left out. */
  readonly files?: readonly string[];
  /** A folder of somebody's that it gets a copy of, within limits: `COPY` in its home. */
  readonly tree?: { readonly from: string; readonly limits: CopyLimits };
  /** A city's group that it is in. */
  readonly group?: number;
  /** `host` unless given. */
  readonly what?: LentFor;
  /** Is told of a folder for everybody that has too much in it to look for what the last one has left there. */
  readonly full?: (folder: string) => void;
}

/**
 * Runs something as a user whom nobody else on this host has meanwhile: it reaches the folders that it is given, a home of its own and what
 * everybody may. Afterwards nothing runs as that user any more, its home is gone, and the folders are the service's again. What
 * it has left elsewhere where everybody may write goes before somebody else is lent that user.
 *
 * @throws HostBusy when too many others are at it; StartError unsupported when a folder is a link; UnconfirmedDead when something of it cannot be
 * ended: the folders are the service's once it has gone; what `work` throws
 */
export async function asLentUser<T>(
  users: Users,
  { folders, below, files = [], tree, group, what = 'host', full = () => undefined }: LentWork,
  work: (sandbox: Sandbox, home: string) => Promise<T>,
): Promise<T> {
  const { user, lock, giveBack } = await lend(users, what, full);
  const undo: (() => Promise<void>)[] = [];
  const leave = async (): Promise<void> => {
    const results = await Promise.allSettled(undo.map((each) => each()));
    await giveBack();
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  };
  try {
    const home = await mkdtemp(path.join(await realpath(tmpdir()), HOME));
    undo.push(async () => {
      await removeTree(home);
      await lock.note('').catch(() => undefined);
    });
    // Before anything is in there: whoever has this user next finds it without a look at what others have left beside it.
    await lock.note(home);
    const count = { left: MAX_COPIED };
    for (const file of files) await copied(path.join(homedir(), file), path.join(home, file), count);
    if (tree !== undefined) await copyTree(tree.from, path.join(home, COPY), tree.limits);
    await own(home, user);
    // Git takes no repository of another user for safe, and asks no variable when it serves one.
    await writeFile(path.join(home, '.gitconfig'), '[safe]\n\tdirectory = *\n');
    await chmod(path.join(home, '.gitconfig'), 0o644);
    for (const folder of folders) {
      undo.push(() => regain(folder, user));
      for (let at = path.dirname(folder); at !== below && at !== path.dirname(at); at = path.dirname(at)) await pass(at);
      await give(folder, user, user, 0o750);
    }
    return await work(users.sandbox({ user, group: group ?? user }, { home, tmp: home, insteadOf: homedir() }), home);
  } finally {
    await ended(users, user, leave);
    await leave();
  }
}

/** Those that this process has: it need not ask for their locks. */
const lent = new Set<number>();

interface Lent {
  readonly user: number;
  readonly lock: HostLock;
  readonly giveBack: () => Promise<void>;
}

/** Among the processes of the host a lock says who has one: it ends with its process. Nothing runs as the one who is lent. */
async function lend(users: Users, what: LentFor, full: (folder: string) => void): Promise<Lent> {
  const until = performance.now() + WAIT_MS;
  for (let pause = AGAIN_MS.first; performance.now() < until; pause = Math.min(2 * pause, AGAIN_MS.most)) {
    for (const user of users.lentTo(what)) {
      if (lent.has(user) || performance.now() > until) continue;
      const taken = await take(users, user);
      if (taken !== undefined && (await isFree(users, taken, full))) return taken;
    }
    await sleep(pause);
  }
  throw new HostBusy('too much is run outside of sessions at once; try again');
}

/** Undefined when another process of the host has it. */
async function take(users: Users, user: number): Promise<Lent | undefined> {
  lent.add(user);
  const lock = await users.lock(user).catch((error: unknown) => {
    lent.delete(user);
    throw error;
  });
  const giveBack = async (): Promise<void> => {
    await lock?.release();
    lent.delete(user);
  };
  if (lock !== undefined) return { user, lock, giveBack };
  await giveBack();
  return undefined;
}

/**
 * Ends, and removes, what processes that were killed have left of what ran as those whom they had lent, which would go on until that number is lent
 * again. Answers of whom; what another process of the host has goes on.
 */
export async function endLeft(users: Users, full: (folder: string) => void): Promise<number[]> {
  const running = new Set((await listProcesses()).map((entry) => entry.user?.()));
  const ended: number[] = [];
  for (const user of new Set((['host', 'commands', 'services'] as const).flatMap((what) => users.lentTo(what)))) {
    if (!running.has(user) || lent.has(user)) continue;
    const taken = await take(users, user);
    if (taken === undefined) continue;
    // Another worker may have given it back in the meantime, with nothing left.
    if ((await listProcesses()).some((entry) => entry.user?.() === user)) ended.push(user);
    if (await isFree(users, taken, full)) await taken.giveBack();
  }
  return ended;
}

/**
 * Ends, and removes, what a process left that was killed: the number is the next city's. One of whom something cannot be ended is given back
 * later, and another one lent.
 */
async function isFree(users: Users, { user, lock, giveBack }: Lent, full: (folder: string) => void): Promise<boolean> {
  try {
    await ended(users, user, giveBack);
  } catch (error) {
    if (error instanceof UnconfirmedDead) return false;
    throw error;
  }
  try {
    if (path.basename(lock.noted).startsWith(HOME)) await removeTree(lock.noted);
    await removeLeft(user, full);
    return true;
  } catch {
    await giveBack();
    return false;
  }
}

/** Ends what runs as a user. One of whom something is left is nobody's until that has gone: `later` is called then. @throws UnconfirmedDead */
async function ended(users: Users, user: number, later: () => Promise<void>): Promise<void> {
  try {
    await users.end(user);
  } catch (error) {
    void gone(users, user)
      .then(later)
      .catch(() => undefined);
    throw error;
  }
}

async function gone(users: Users, user: number): Promise<void> {
  for (;;) {
    try {
      await users.end(user);
      return;
    } catch {
      await sleep(LATER_MS, undefined, { ref: false });
    }
  }
}

/** No link is followed, and nothing waited for. */
async function copied(from: string, to: string, count: { left: number }): Promise<void> {
  const found = await lstat(from).catch(() => undefined);
  if (found === undefined || --count.left < 0) return;
  if (found.isDirectory()) {
    await mkdir(to, { recursive: true });
    for (const name of await readdir(from)) await copied(path.join(from, name), path.join(to, name), count);
  } else if (found.isFile() && found.size <= MAX_SIZE) {
    await mkdir(path.dirname(to), { recursive: true });
    await copyFile(from, to);
  }
}

/** Nobody else has been in there yet. */
async function own(at: string, user: number): Promise<void> {
  if ((await lstat(at)).isDirectory()) {
    for (const name of await readdir(at)) await own(path.join(at, name), user);
    await chmod(at, 0o700);
  } else await chmod(at, 0o600);
  await chown(at, user, user);
}
