import { open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { sleep } from '../time/clock.js';
import { birthOf, runs, type ProcessMark } from './processes.js';

/** One supervisor a data directory. */
export interface DirectoryLock {
  release(): Promise<void>;
}

export class DirectoryInUse extends Error {
  constructor(
    readonly directory: string,
    readonly pid: number,
  ) {
    super(`another supervisor (process ${pid}) is running on ${directory}; stop it, or choose another directory with SVC_DATA_DIR`);
  }
}

const TRIES = 5;

/**
 * Takes `supervisor.lock` in `directory`. A lock whose process is gone, also when its number is in use again, is
 * taken over.
 *
 * @throws DirectoryInUse when a living supervisor holds it.
 */
export async function lockDirectory(directory: string): Promise<DirectoryLock> {
  const file = join(directory, 'supervisor.lock');
  const own: ProcessMark = { pid: process.pid, birth: birthOf(process.pid) };
  for (let i = 0; i < TRIES; i++) {
    if (await create(file, own)) {
      // Two starters that found the same dead lock may both have removed it: the one whose file stays has won.
      await sleep(30);
      if (same(await read(file), own)) return { release: () => release(file, own) };
    }
    const holder = await read(file);
    if (holder !== undefined && runs(holder)) throw new DirectoryInUse(directory, holder.pid);
    await rm(file, { force: true });
  }
  throw new Error(`the lock ${file} cannot be taken`);
}

async function create(file: string, own: ProcessMark): Promise<boolean> {
  try {
    const handle = await open(file, 'wx', 0o600);
    await handle.writeFile(JSON.stringify(own));
    await handle.close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function read(file: string): Promise<ProcessMark | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as ProcessMark;
  } catch {
    await sleep(50); // being written, or cut off by a crash
    return readFile(file, 'utf8').then(
      (text) => parse(text),
      () => undefined,
    );
  }
}

function parse(text: string): ProcessMark | undefined {
  try {
    return JSON.parse(text) as ProcessMark;
  } catch {
    return undefined;
  }
}

const same = (a: ProcessMark | undefined, b: ProcessMark): boolean => a?.pid === b.pid && a.birth === b.birth;

async function release(file: string, own: ProcessMark): Promise<void> {
  if (same(await read(file), own)) await rm(file, { force: true });
}
