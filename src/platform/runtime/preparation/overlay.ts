import { createHash, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { link, lstat, mkdir, open, readFile, rename, stat, unlink, writeFile, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { StartError } from '../port.js';
import { HeldFolder } from './held-folder.js';
import type { OverlayFile } from './preparation.js';

/** A file as we left it. */
interface Ours {
  readonly sha256: string;
  readonly size: number;
  readonly mtimeMs: number;
}
type Ledger = Map<string, Ours>;

/** Of a file: as much as is read of one when a city's files are looked at. */
const MAX_BYTES = 256 * 1024 * 1024;
/** Others may change what is theirs at any time: a pipe is not waited for. */
const READ = constants.O_RDONLY | constants.O_NONBLOCK;
const READ_OURS = READ | constants.O_NOFOLLOW;
/** Where a test may change what lies about: a file's folder is known, or its content is about to be written. */
export type Moment = 'found' | 'copies';

/**
 * Lays files into a directory. What is there already and is not ours stays as it is: a file that somebody else made or
 * changed, a directory or a link in its way. Ours are those that were laid here before and that nobody has touched since;
 * they take on what the overlay says now. Nothing is written through a symbolic link, also of one that is made meanwhile, so
 * nothing outside of the directory is; nothing is ever taken away. Where nothing has changed, each file costs a look at it.
 *
 * @throws StartError `unsupported` when the directory is a link, `timeout` when a file changes while it is copied or cannot be written just now, `aborted`
 */
export async function layOver(
  files: readonly OverlayFile[],
  directory: string,
  ledgerFile: string,
  signal: AbortSignal,
  at?: (moment: Moment) => Promise<void>,
): Promise<void> {
  if (files.length === 0) return;
  await oneByOne(ledgerFile, async () => {
    const before = await readLedger(ledgerFile);
    const after: Ledger = new Map();
    const held: HeldFolder[] = [];
    try {
      held.push(await HeldFolder.open(directory));
      for (const file of files) {
        goesOn(signal);
        const ours = await lay(file, held, before.get(file.path), signal, at);
        if (ours !== undefined) after.set(file.path, ours);
      }
    } catch (error) {
      if (error instanceof StartError) throw error;
      const { code, message } = error as NodeJS.ErrnoException;
      throw new StartError('timeout', `the overlay cannot be laid into ${directory}: ${code ?? message}`, '', { cause: error });
    } finally {
      await Promise.all(held.map((folder) => folder.close()));
      if (!isSame(before, after)) await writeLedger(ledgerFile, new Map([...before, ...after]));
    }
  });
}

/** Sessions that share a directory start at any time; each sees what the one before it has written. */
const lines = new Map<string, Promise<void>>();

async function oneByOne(key: string, work: () => Promise<void>): Promise<void> {
  const turn = (lines.get(key) ?? Promise.resolve()).then(work);
  const line = turn.catch(() => undefined);
  lines.set(key, line);
  try {
    await turn;
  } finally {
    if (lines.get(key) === line) lines.delete(key);
  }
}

/** The file as it is now when it is ours. */
async function lay(
  file: OverlayFile,
  held: HeldFolder[],
  known: Ours | undefined,
  signal: AbortSignal,
  at?: (moment: Moment) => Promise<void>,
): Promise<Ours | undefined> {
  const folder = await folderOf(file, held);
  if (folder === undefined) return undefined;
  const target = folder.at(path.posix.basename(file.path));
  await at?.('found');
  const there = await lstat(target).catch(absent);
  if (there === undefined) return (await put(file, target, { replace: false, signal, at })) ? note(target, file.sha256) : undefined;
  if (!there.isFile()) return undefined;
  const untouched = known !== undefined && known.size === there.size && known.mtimeMs === there.mtimeMs;
  if (untouched && known.sha256 === file.sha256) return known;
  // Neither what we left nor what we bring has its size: it need not be read to be somebody else's.
  if (there.size !== known?.size && there.size !== (await stat(file.source)).size) return undefined;
  const is = untouched ? known.sha256 : await digest(target, READ_OURS, signal);
  if (is === file.sha256) return note(target, is);
  if (is === undefined || is !== known?.sha256) return undefined;
  await put(file, target, { replace: true, signal, at });
  return note(target, file.sha256);
}

/**
 * The folder that a file belongs into; undefined when something that is no folder of its own is in the way.
 *
 * @param held the folders from the directory to the one of the file before, for the next one often lies beside it
 */
async function folderOf({ path: name }: OverlayFile, held: HeldFolder[]): Promise<HeldFolder | undefined> {
  const parts = name.split('/').slice(0, -1);
  const same = held.slice(1).findIndex(({ name: own }, n) => own !== parts[n]);
  const left = held.splice(same === -1 ? held.length : same + 1);
  await Promise.all(left.map((folder) => folder.close()));
  while (held.length <= parts.length) {
    const next = await held.at(-1)!.inside(parts[held.length - 1]!);
    if (next === undefined) return undefined;
    held.push(next);
  }
  return held.at(-1);
}

interface Put {
  readonly replace: boolean;
  readonly signal: AbortSignal;
  readonly at: ((moment: Moment) => Promise<void>) | undefined;
}

/** False when somebody else has been faster. Whole or not at all, whatever happens meanwhile. */
async function put(file: OverlayFile, target: string, { replace, signal, at }: Put): Promise<boolean> {
  const source = await open(file.source, READ);
  try {
    const { mode } = await source.stat();
    // Before a byte of it lies where agents read: the path may lead to something else by now.
    await check(file, source, signal);
    await at?.('copies');
    const copy = path.join(path.dirname(target), `.${path.basename(target)}.${randomUUID()}`);
    const out = await open(copy, 'wx', (mode & 0o111) === 0 ? 0o644 : 0o755);
    try {
      await check(file, source, signal, out);
      if (replace) await rename(copy, target);
      else await link(copy, target).catch((error: NodeJS.ErrnoException) => withoutLinks(error, source, target, mode, signal));
      return true;
    } catch (error) {
      if (!replace && (error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    } finally {
      await out.close();
      await unlink(copy).catch(absent);
    }
  } finally {
    await source.close();
  }
}

/** Some shared file systems have no hard links. */
async function withoutLinks(
  error: NodeJS.ErrnoException,
  source: FileHandle,
  target: string,
  mode: number,
  signal: AbortSignal,
): Promise<void> {
  if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(error.code ?? '')) throw error;
  const out = await open(target, 'wx', (mode & 0o111) === 0 ? 0o644 : 0o755);
  try {
    await hashed(source, signal, out);
  } finally {
    await out.close();
  }
}

async function check({ path: name, sha256 }: OverlayFile, source: FileHandle, signal: AbortSignal, into?: FileHandle): Promise<void> {
  if ((await hashed(source, signal, into)) !== sha256)
    throw new StartError('timeout', `the file ${name} of the overlay has changed while it was copied`);
}

async function note(target: string, sha256: string): Promise<Ours> {
  const { size, mtimeMs } = await lstat(target);
  return { sha256, size, mtimeMs };
}

async function digest(file: string, flags: number, signal: AbortSignal): Promise<string | undefined> {
  const handle = await open(file, flags);
  try {
    return await hashed(handle, signal);
  } finally {
    await handle.close();
  }
}

/**
 * Of a whole file, from its beginning; undefined for what is none, is longer than a file of an overlay can be, or grows while it is read: an agent
 * may make one of terabytes in no time. @param into gets what is read
 */
async function hashed(file: FileHandle, signal: AbortSignal, into?: FileHandle): Promise<string | undefined> {
  const found = await file.stat();
  if (!found.isFile() || found.size > MAX_BYTES) return undefined;
  const hash = createHash('sha256');
  let left = found.size;
  for await (const chunk of file.createReadStream({ start: 0, autoClose: false }) as AsyncIterable<Buffer>) {
    goesOn(signal);
    left -= chunk.length;
    if (left < 0) return undefined;
    hash.update(chunk);
    await into?.writeFile(chunk);
  }
  return hash.digest('hex');
}

function goesOn(signal: AbortSignal): void {
  if (signal.aborted) throw new StartError('aborted', 'the start was called off');
}

/** Without one, or with one that cannot be read, everything that is there is somebody else's, unless it is the same. */
async function readLedger(file: string): Promise<Ledger> {
  try {
    const entries = Object.entries(JSON.parse(await readFile(file, 'utf8')) as Record<string, Ours | null>);
    return new Map(entries.filter((entry): entry is [string, Ours] => typeof entry[1]?.sha256 === 'string'));
  } catch {
    return new Map();
  }
}

async function writeLedger(file: string, ledger: Ledger): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  const next = `${file}.${randomUUID()}`;
  await writeFile(next, JSON.stringify(Object.fromEntries(ledger)));
  await rename(next, file);
}

function isSame(before: Ledger, after: Ledger): boolean {
  return [...after].every(([name, ours]) => before.get(name) === ours);
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error;
}
