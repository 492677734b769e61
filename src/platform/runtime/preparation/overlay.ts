import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { constants, copyFile, link, lstat, mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { StartError } from '../port.js';
import type { OverlayFile } from './preparation.js';

/** A file as we left it. */
interface Ours {
  readonly sha256: string;
  readonly size: number;
  readonly mtimeMs: number;
}
type Ledger = Map<string, Ours>;

/**
 * Lays files into a directory. What is there already and is not ours stays as it is: a file that somebody else made or
 * changed, a directory or a link in its way. Ours are those that were laid here before and that nobody has touched since;
 * they take on what the overlay says now. Nothing is written through a symbolic link, so nothing outside of the directory
 * is; nothing is ever taken away. Where nothing has changed, each file costs a look at it.
 *
 * @throws StartError `timeout` when a file changes while it is copied or cannot be written just now, `aborted`
 */
export async function layOver(files: readonly OverlayFile[], directory: string, ledgerFile: string, signal: AbortSignal): Promise<void> {
  if (files.length === 0) return;
  await oneByOne(ledgerFile, async () => {
    const before = await readLedger(ledgerFile);
    const after: Ledger = new Map();
    try {
      for (const file of files) {
        if (signal.aborted) throw new StartError('aborted', 'the start was called off');
        const ours = await lay(file, directory, before.get(file.path));
        if (ours !== undefined) after.set(file.path, ours);
      }
    } catch (error) {
      if (error instanceof StartError) throw error;
      const { code, message } = error as NodeJS.ErrnoException;
      throw new StartError('timeout', `the overlay cannot be laid into ${directory}: ${code ?? message}`, '', { cause: error });
    } finally {
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
async function lay(file: OverlayFile, directory: string, known: Ours | undefined): Promise<Ours | undefined> {
  const target = path.join(directory, ...file.path.split('/'));
  if (!(await makeFolders(directory, file.path))) return undefined;
  const there = await lstat(target).catch(absent);
  if (there === undefined) return (await put(file, target, false)) ? note(target, file.sha256) : undefined;
  if (!there.isFile()) return undefined;
  const untouched = known !== undefined && known.size === there.size && known.mtimeMs === there.mtimeMs;
  if (untouched && known.sha256 === file.sha256) return known;
  // Neither what we left nor what we bring has its size: it need not be read to be somebody else's.
  if (there.size !== known?.size && there.size !== (await stat(file.source)).size) return undefined;
  const is = untouched ? known.sha256 : await digest(target);
  if (is === file.sha256) return note(target, is);
  if (is !== known?.sha256) return undefined;
  await put(file, target, true);
  return note(target, file.sha256);
}

/** False when something that is no directory of its own is in the way. */
async function makeFolders(directory: string, name: string): Promise<boolean> {
  let at = directory;
  for (const part of name.split('/').slice(0, -1)) {
    at = path.join(at, part);
    const there = await lstat(at).catch(absent);
    if (there === undefined) await mkdir(at).catch(unlessThere);
    else if (!there.isDirectory()) return false;
  }
  return true;
}

/** False when somebody else has been faster. Whole or not at all, whatever happens meanwhile. */
async function put({ path: name, source, sha256 }: OverlayFile, target: string, replace: boolean): Promise<boolean> {
  const copy = path.join(path.dirname(target), `.${path.basename(target)}.${randomUUID()}`);
  const mode = ((await stat(source)).mode & 0o111) === 0 ? 0o644 : 0o755;
  const hash = createHash('sha256');
  try {
    const out = await open(copy, 'wx', mode);
    try {
      for await (const chunk of createReadStream(source)) {
        hash.update(chunk as Buffer);
        await out.writeFile(chunk as Buffer);
      }
    } finally {
      await out.close();
    }
    if (hash.digest('hex') !== sha256) throw new StartError('timeout', `the file ${name} of the overlay has changed while it was copied`);
    if (replace) await rename(copy, target);
    else await link(copy, target).catch((error: NodeJS.ErrnoException) => withoutLinks(error, copy, target));
    return true;
  } catch (error) {
    if (!replace && (error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(copy, { force: true });
  }
}

/** Some shared file systems have no hard links. */
async function withoutLinks(error: NodeJS.ErrnoException, copy: string, target: string): Promise<void> {
  if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(error.code ?? '')) throw error;
  await copyFile(copy, target, constants.COPYFILE_EXCL);
}

async function note(target: string, sha256: string): Promise<Ours> {
  const { size, mtimeMs } = await lstat(target);
  return { sha256, size, mtimeMs };
}

async function digest(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest('hex');
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

function unlessThere(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}
