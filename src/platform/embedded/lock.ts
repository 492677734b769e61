import { randomUUID } from 'node:crypto';
import { lstat, open, rename, rm, type FileHandle } from 'node:fs/promises';
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
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
}

interface Holder extends ProcessMark {
  readonly place?: string;
}

/** A lock as it was found. */
interface Found {
  readonly text: string;
  /** Another one once it is touched, or replaced. */
  readonly mark: string;
}

const TRIES = 5;
/** A process that stood still meanwhile has looked no less often. */
const LOOKS = 50;

/**
 * Takes `supervisor.lock` in `directory`. A lock whose process is gone, also when its number is in use again, is taken over. Of one on
 * another host, in another container, or from before the last boot the number says nothing here: it is gone when its lock is not touched.
 *
 * @throws DirectoryInUse when a living supervisor holds it.
 */
export async function lockDirectory(
  directory: string,
  { onStep, timings = new LockTimings(), place = placeOfNumbers(), signal }: Locking = {},
): Promise<DirectoryLock> {
  const file = join(directory, 'supervisor.lock');
  const own: Holder = { pid: process.pid, birth: birthOf(process.pid), place };
  for (let i = 0; i < TRIES; i++) {
    signal?.throwIfAborted();
    const handle = await create(file, own);
    if (handle !== undefined) {
      // Two starters that found the same dead lock may both have moved it: the one whose file stays has won.
      await sleep(30);
      if (same(await read(file), own)) return held(file, own, handle, timings.touchMs);
      await handle.close();
    }
    const found = await look(file);
    if (found === undefined) continue;
    const holder = await read(file);
    if (holder?.place === undefined || holder.place === place) {
      if (holder !== undefined && runs(holder)) throw new DirectoryInUse(directory, holder.pid);
    } else {
      onStep?.(`waiting whether another host, or container, is running on ${directory}`);
      const became = await waitFor(file, found, timings.waitMs, signal);
      signal?.throwIfAborted();
      if (became === 'touched') {
        const by = (await read(file)) ?? holder;
        throw new DirectoryInUse(directory, by.pid, by.place === place ? '' : ' of another host, or container,');
      }
      // Moved aside by somebody who looks at it, as it seems: it may come back.
      if (became === 'gone') continue;
    }
    await remove(file, found);
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

/** What becomes of a lock within that time: `touched` also where it is replaced. */
async function waitFor(file: string, found: Found, ms: number, signal: AbortSignal | undefined): Promise<'touched' | 'gone' | 'same'> {
  for (let i = 0; i < LOOKS && signal?.aborted !== true; i++) {
    await sleep(ms / LOOKS, signal);
    const seen = await look(file);
    if (seen === undefined) return 'gone';
    if (seen.mark !== found.mark) return 'touched';
  }
  return 'same';
}

/** Removes a lock as it was found, and no other: who looked at the same dead one may have taken it over since. */
async function remove(file: string, found: Found): Promise<void> {
  if ((await look(file))?.mark !== found.mark) return;
  const aside = `${file}.${randomUUID()}`;
  try {
    // Of several, one moves it.
    await rename(file, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  // What came between the look and the move is put back over whatever has come since: that sees within 30 ms that it has not stayed.
  if ((await look(aside))?.mark === found.mark) await rm(aside, { force: true });
  else await rename(aside, file);
}

/** A network mount asks its server when a file is opened, and else answers from what it has heard before. @throws Error for one that cannot be read */
async function look(file: string): Promise<Found | undefined> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file);
    const { ino, mtimeMs } = await handle.stat();
    const text = await handle.readFile('utf8');
    return { text, mark: `${ino} ${mtimeMs} ${text}` };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw await unreadable(file, error as NodeJS.ErrnoException);
  } finally {
    await handle?.close();
  }
}

/** A lock that is not ours to read, as that of a start as another user, is none that has gone: nobody knows whether its process runs. */
async function unreadable(file: string, cause: NodeJS.ErrnoException): Promise<Error> {
  const whose = await lstat(file).then(
    ({ uid }) => `, which UID ${uid} has left`,
    () => '',
  );
  const why = `cannot look at the lock ${file} (${cause.code ?? cause.message})${whose}`;
  return new Error(`${why}: remove it when no supervisor runs on this directory`, { cause });
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
  const holder = parse((await look(file))?.text);
  if (holder !== undefined) return holder;
  await sleep(50); // being written, being put back, or cut off by a crash
  return parse((await look(file))?.text);
}

function parse(text = ''): Holder | undefined {
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
