import { open, readFile, rm, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { sleep } from '../time/clock.js';
import { birthOf, placeOfNumbers, runs, type ProcessMark } from './processes.js';

/** One supervisor a data directory. */
export interface DirectoryLock {
  release(): Promise<void>;
}

export class DirectoryInUse extends Error {
  constructor(
    readonly directory: string,
    readonly pid: number,
    where = '',
  ) {
    super(`another supervisor (process ${pid}${where}) is running on ${directory}; stop it, or choose another directory with SVC_DATA_DIR`);
  }
}

/** How often a holder touches its lock, and how long somebody waits for that who cannot see its process. */
export class LockTimings {
  readonly touchMs: number = 2_000;
  readonly waitMs: number = 10_000;

  constructor(overrides: Partial<LockTimings> = {}) {
    Object.assign(this, overrides);
  }
}

export interface Locking {
  readonly onStep?: (what: string) => void;
  readonly timings?: LockTimings;
  /** Where its process has its number. */
  readonly place?: string;
}

interface Holder extends ProcessMark {
  readonly place?: string;
}

const TRIES = 5;

/**
 * Takes `supervisor.lock` in `directory`. A lock whose process is gone, also when its number is in use again, is taken over. Of one on
 * another host, in another container, or from before the last boot the number says nothing here: it is gone when its lock is not touched.
 *
 * @throws DirectoryInUse when a living supervisor holds it.
 */
export async function lockDirectory(
  directory: string,
  { onStep, timings = new LockTimings(), place = placeOfNumbers() }: Locking = {},
): Promise<DirectoryLock> {
  const file = join(directory, 'supervisor.lock');
  const own: Holder = { pid: process.pid, birth: birthOf(process.pid), place };
  for (let i = 0; i < TRIES; i++) {
    const handle = await create(file, own);
    if (handle !== undefined) {
      // Two starters that found the same dead lock may both have removed it: the one whose file stays has won.
      await sleep(30);
      if (same(await read(file), own)) return held(file, own, handle, timings.touchMs);
      await handle.close();
    }
    const holder = await read(file);
    if (holder?.place === undefined || holder.place === place) {
      if (holder !== undefined && runs(holder)) throw new DirectoryInUse(directory, holder.pid);
    } else {
      onStep?.(`waiting whether another host, or container, is running on ${directory}`);
      if (await isTouched(file, timings.waitMs)) throw new DirectoryInUse(directory, holder.pid, ' of another host, or container,');
    }
    await rm(file, { force: true });
  }
  throw new Error(`the lock ${file} cannot be taken`);
}

/** Touches its own file alone, also when somebody has taken it for dead and has put another in the place of it. */
function held(file: string, own: Holder, handle: FileHandle, touchMs: number): DirectoryLock {
  const touch = (): void => void handle.utimes(new Date(), new Date()).catch(() => undefined);
  const touching = setInterval(touch, touchMs).unref();
  let isReleased = false;
  return {
    release: async () => {
      if (isReleased) return;
      isReleased = true;
      clearInterval(touching);
      await handle.close();
      await release(file, own);
    },
  };
}

/** Whether a lock is touched, or replaced, within that time. One that goes is not. */
async function isTouched(file: string, ms: number): Promise<boolean> {
  // A network mount asks its server when a file is opened, and else answers from what it has heard before.
  const look = async (): Promise<string | undefined> => {
    const handle = await open(file).catch(() => undefined);
    if (handle === undefined) return undefined;
    try {
      const { ino, mtimeMs } = await handle.stat();
      return `${ino} ${mtimeMs}`;
    } finally {
      await handle.close();
    }
  };
  const first = await look();
  for (const until = performance.now() + ms; performance.now() < until; await sleep(Math.min(200, ms / 10))) {
    const seen = await look();
    if (seen === undefined) return false;
    if (seen !== first) return true;
  }
  return false;
}

async function create(file: string, own: Holder): Promise<FileHandle | undefined> {
  try {
    const handle = await open(file, 'wx', 0o600);
    await handle.writeFile(JSON.stringify(own));
    return handle;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return undefined;
    throw error;
  }
}

async function read(file: string): Promise<Holder | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Holder;
  } catch {
    await sleep(50); // being written, or cut off by a crash
    return readFile(file, 'utf8').then(
      (text) => parse(text),
      () => undefined,
    );
  }
}

function parse(text: string): Holder | undefined {
  try {
    return JSON.parse(text) as Holder;
  } catch {
    return undefined;
  }
}

const same = (a: Holder | undefined, b: Holder): boolean => a?.pid === b.pid && a.birth === b.birth && a.place === b.place;

async function release(file: string, own: Holder): Promise<void> {
  if (same(await read(file), own)) await rm(file, { force: true });
}
