import { lstat, open, readdir, readlink, realpath, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { FILE } from '../isolation/held.js';
import { liesAt } from '../runtime/preparation/held-folder.js';

const MAX_TEXT = 1024 * 1024;
const MAX_NAME = 1_024;
const MAX_ENTRIES = 20_000;
const LOOSE = /^[0-9a-f]{2}$/;

export interface OwnRepository {
  /** Git's directory of this tree. */
  readonly gitDir: string;
  /** That which it may share with other trees of the repository; the same one where it does not. */
  readonly common: string;
}

/**
 * Git's directories of the repository that lies in `directory` with all it consists of; undefined when there is none. A `.git` that
 * points elsewhere, a shared or borrowed store of objects, links, and settings that include other files would have git read, and
 * tell of, another's repository: such a one counts as none. What changes between this look and git's leads
 * nowhere where git has a sandbox; git's own words about a rig are shown to nobody.
 */
export async function ownRepository(directory: string): Promise<OwnRepository | undefined> {
  try {
    const root = await realpath(directory);
    const gitDir = await gitDirOf(root);
    if (gitDir === undefined) return undefined;
    const common = (await pointed(gitDir, 'commondir', root)) ?? gitDir;
    for (const each of new Set([gitDir, common])) if (!(await isWhole(each))) return undefined;
    return { gitDir, common };
  } catch {
    return undefined;
  }
}

async function gitDirOf(root: string): Promise<string | undefined> {
  const there = path.join(root, '.git');
  const found = await lstat(there);
  if (found.isDirectory()) return there;
  if (!found.isFile()) return undefined;
  const [, to] = /^gitdir: ([^\n]+)\n?$/.exec(await textOf(there)) ?? [];
  return to === undefined ? undefined : inside(root, path.resolve(root, to));
}

/** The directory that a file of git's names, which has to lie in the rig; undefined without the file. @throws Error when it does not */
async function pointed(gitDir: string, name: string, root: string): Promise<string | undefined> {
  const file = path.join(gitDir, name);
  const found = await lstat(file).catch(() => undefined);
  if (found === undefined) return undefined;
  if (!found.isFile()) throw new Error(`${name} is no file`);
  return inside(root, path.resolve(gitDir, (await textOf(file)).trim()));
}

async function inside(root: string, to: string): Promise<string> {
  const real = await realpath(to);
  if (!real.startsWith(root + path.sep)) throw new Error('it leads outside');
  return real;
}

/** No link and no pipe in it, nothing borrowed, nothing included. */
async function isWhole(gitDir: string): Promise<boolean> {
  const left = [''];
  let seen = 0;
  for (let folder = left.pop(); folder !== undefined; folder = left.pop()) {
    for (const entry of await readdir(path.join(gitDir, folder), { withFileTypes: true })) {
      const at = path.join(folder, entry.name);
      if (++seen > MAX_ENTRIES || !(entry.isFile() || entry.isDirectory())) return false;
      // A loose object is what its name says, or git does not take it: one does not have to look at a hundred thousand.
      if (entry.isDirectory() && !(folder === 'objects' && LOOSE.test(entry.name))) left.push(at);
      if (/^objects\/info\/(?:http-)?alternates$/.test(at)) return false;
    }
  }
  const texts = await Promise.all(['config', 'config.worktree'].map((name) => textOf(path.join(gitDir, name)).catch(() => '')));
  return texts.every((text) => !/\[include/i.test(text));
}

/**
 * An agent may put a pipe there, which nobody writes to, or a link, or a file that grows, right after one has looked.
 *
 * @throws Error for what is no file, or too large to be one of settings
 */
export async function textOf(file: string): Promise<string> {
  const handle = await open(file, FILE);
  try {
    if (!liesAt(handle, file)) throw new Error('it is a link, or lies behind one');
    const found = await handle.stat();
    if (!found.isFile()) throw new Error('it is no file');
    if (found.size > MAX_TEXT) throw new Error('the file is too large');
    const text = Buffer.alloc(found.size);
    let length = 0;
    for (let read = -1; read !== 0 && length < text.length; length += read)
      read = (await handle.read(text, length, text.length - length, length)).bytesRead;
    return text.toString('utf8', 0, length);
  } finally {
    await handle.close();
  }
}

/** What `git symbolic-ref --short` says of a ref of such a repository, read where nobody may run git; undefined for none. Through no link. */
export async function branchNamed(gitDir: string, ref: string): Promise<string | undefined> {
  const file = path.join(gitDir, ref);
  let handle: FileHandle | undefined;
  try {
    handle = await open(file, FILE);
    if ((await readlink(`/proc/self/fd/${handle.fd}`)) !== file) return undefined;
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_NAME), 0, MAX_NAME, 0);
    return /^ref: refs\/(?:heads|remotes)\/([^\s.]\S*)\n$/.exec(buffer.toString('utf8', 0, bytesRead))?.[1];
  } catch {
    return undefined;
  } finally {
    await handle?.close();
  }
}
