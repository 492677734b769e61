import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync } from 'node:fs';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { birthOf, isAlive, type ProcessMark } from './processes.js';

/** `server.json` in a data directory: which process serves it, and where. It is how the client finds the server of its directory. */
export interface ServerFile extends ProcessMark {
  readonly url: string;
}

const NAME = 'server.json';
const MAX_BYTES = 4_096;
const FOREIGN_WRITE = 0o022;

export const serverFilePath = (dataDir: string): string => join(dataDir, NAME);

/** Says that this process serves `dataDir` at `url`, in one step, so that nobody reads half of it. */
export async function writeServerFile(dataDir: string, url: string): Promise<void> {
  const file = serverFilePath(dataDir);
  const fresh = `${file}.${process.pid}`;
  const own: ServerFile = { url, pid: process.pid, birth: birthOf(process.pid) };
  await mkdir(dataDir, { recursive: true });
  await rm(fresh, { force: true });
  const handle = await open(fresh, 'wx', 0o600);
  try {
    await handle.writeFile(`${JSON.stringify(own)}\n`);
  } finally {
    await handle.close();
  }
  await rename(fresh, file);
}

/** Removes the file, unless another process has taken the directory over. */
export async function removeServerFile(dataDir: string): Promise<void> {
  const found = readServerFile(dataDir);
  if (typeof found === 'object' && found.pid === process.pid) await rm(serverFilePath(dataDir), { force: true });
}

/**
 * The living server of `dataDir`. `gone` when its process has ended; `foreign` when somebody else owns the file or may
 * write it: commands and keys are not sent where another user says.
 */
export function readServerFile(dataDir: string): ServerFile | 'gone' | 'foreign' | undefined {
  const file = serverFilePath(dataDir);
  let handle: number;
  try {
    handle = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return present(file) ? 'foreign' : undefined;
  }
  try {
    const { uid, mode, size } = fstatSync(handle);
    if ((process.getuid !== undefined && uid !== process.getuid()) || (mode & FOREIGN_WRITE) !== 0) return 'foreign';
    if (size > MAX_BYTES) return undefined;
    const found = parse(readFileSync(handle, 'utf8'));
    // A process always lives under some number: without its birth, where the platform tells of one, the file was written by no server.
    return found === undefined || (isAlive(found.pid) && found.birth === birthOf(found.pid)) ? found : 'gone';
  } catch {
    return undefined;
  } finally {
    closeSync(handle);
  }
}

function present(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false }) !== undefined;
}

function parse(text: string): ServerFile | undefined {
  const { url, pid, birth } = (JSON.parse(text) ?? {}) as Record<string, unknown>;
  if (typeof url !== 'string' || !Number.isInteger(pid) || Number(pid) <= 0) return undefined;
  return { url, pid: Number(pid), birth: typeof birth === 'string' ? birth : undefined };
}
