import { lstat, open, opendir, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { FOLDER } from '../runtime/preparation/held-folder.js';
import { StartError } from '../runtime/port.js';
import { FILE, heldAt } from './held.js';

const MAX_ENTRIES = 500_000;
const MAX_DEPTH = 64;
const MODE = 0o7777;

/** Whom something is opened for. Its owner stays the same: whoever else edits it can go on. */
export interface Share {
  /** Undefined: everybody, to read. */
  readonly group?: number | undefined;
  /** Bits that folders get, and those that files get; `x` only where the owner has it. */
  readonly folders: number;
  readonly files: number;
  /** Bits of the top folder when they are not those of the others; it says that all below it is done. */
  readonly top?: number;
  /** Names in the top folder that are left alone. */
  readonly without?: readonly string[];
  /** What belongs to agents stays as they have it. */
  readonly isAgents: (user: number) => boolean;
}

const running = new Map<string, Promise<void>>();

/**
 * Opens a tree for the sessions of a city, once: afterwards a look at its top folder tells. Everything is reached through folders that are
 * held open and through no link; a file with a second name, which may lie anywhere, is left as it is. Closes the top for all others.
 *
 * @throws StartError unsupported when it is a link, lies behind one, or is too large
 */
export async function share(directory: string, sharing: Share): Promise<void> {
  const key = JSON.stringify([directory, sharing.group, sharing.top ?? sharing.folders]);
  const same = running.get(key);
  if (same !== undefined) return same;
  const work = shareNow(directory, sharing).finally(() => running.delete(key));
  running.set(key, work);
  return work;
}

async function shareNow(directory: string, sharing: Share): Promise<void> {
  const held = await heldAt(directory);
  try {
    const { uid, gid, mode } = await held.stat();
    if (sharing.isAgents(uid)) return;
    const top = sharing.top ?? sharing.folders;
    if ((sharing.group === undefined || gid === sharing.group) && (mode & top) === top && isClosed(mode, sharing)) return;
    const count = { left: MAX_ENTRIES };
    await within(held, directory, sharing, count, 0);
    await set(held, top, sharing);
  } finally {
    await held.close();
  }
}

/** Closes a folder to all but its owner and its group, unless it is only a passage. Links are left alone. */
export async function close(directory: string): Promise<void> {
  const handle = await open(directory, FOLDER).catch(() => undefined);
  if (handle === undefined) return;
  try {
    const mode = (await handle.stat()).mode & MODE;
    if ((mode & 0o006) !== 0) await handle.chmod(mode & ~0o007);
  } finally {
    await handle.close();
  }
}

/** Lets everybody go through a folder to what lies below it, and nobody list it. */
export async function pass(directory: string): Promise<void> {
  const handle = await heldAt(directory);
  try {
    const mode = (await handle.stat()).mode & MODE;
    const wanted = (mode & ~0o006) | 0o001;
    if (wanted !== mode) await handle.chmod(wanted);
  } finally {
    await handle.close();
  }
}

/** A folder of one, whoever it was of before. @param group undefined: as it is */
export async function give(directory: string, user: number, group: number, mode: number): Promise<void> {
  const handle = await heldAt(directory);
  try {
    const found = await handle.stat();
    if (found.uid !== user || found.gid !== group) await handle.chown(user, group);
    if ((found.mode & MODE) !== mode) await handle.chmod(mode);
  } finally {
    await handle.close();
  }
}

/** Gives the service back what somebody owns in a tree, with the bits that its mask leaves. Nobody runs as that user any more. */
export async function regain(directory: string, user: number): Promise<void> {
  const held = await heldAt(directory);
  try {
    await regainIn(held, user, { left: MAX_ENTRIES }, 0);
    await regainOne(held, user);
  } finally {
    await held.close();
  }
}

async function regainIn(held: FileHandle, user: number, count: { left: number }, depth: number): Promise<void> {
  if (depth > MAX_DEPTH) throw new StartError('unsupported', 'folders are too deep to be taken back');
  const at = `/proc/self/fd/${held.fd}`;
  for await (const { name } of await opendir(at)) {
    if (--count.left < 0) throw new StartError('unsupported', 'there are too many files to be taken back');
    const found = await lstat(path.posix.join(at, name));
    if (!found.isFile() && !found.isDirectory()) continue;
    const handle = await open(path.posix.join(at, name), found.isDirectory() ? FOLDER : FILE);
    try {
      if (found.isDirectory()) await regainIn(handle, user, count, depth + 1);
      await regainOne(handle, user);
    } finally {
      await handle.close();
    }
  }
}

async function regainOne(handle: FileHandle, user: number): Promise<void> {
  const { uid, mode } = await handle.stat();
  if (uid !== user) return;
  await handle.chown(process.getuid!(), process.getgid!());
  await handle.chmod(mode & 0o777 & ~process.umask());
}

async function within(held: FileHandle, where: string, sharing: Share, count: { left: number }, depth: number): Promise<void> {
  if (depth > MAX_DEPTH) throw new StartError('unsupported', `${where} is too deep to be shared with agents`);
  const at = `/proc/self/fd/${held.fd}`;
  for await (const { name } of await opendir(at)) {
    if (depth === 0 && sharing.without?.includes(name) === true) continue;
    if (--count.left < 0) throw new StartError('unsupported', `${where} has too many files to be shared with agents`);
    const entry = path.posix.join(at, name);
    const found = await lstat(entry).catch(() => undefined);
    if (found === undefined || sharing.isAgents(found.uid) || (!found.isFile() && !found.isDirectory())) continue;
    const handle = await open(entry, found.isDirectory() ? FOLDER : FILE).catch(() => undefined);
    if (handle === undefined) continue;
    try {
      const { uid, nlink } = await handle.stat();
      if (sharing.isAgents(uid)) continue;
      if (found.isDirectory()) {
        await within(handle, path.join(where, name), sharing, count, depth + 1);
        await set(handle, sharing.folders, sharing);
      } else if (nlink === 1) await set(handle, sharing.files, sharing);
    } finally {
      await handle.close();
    }
  }
}

async function set(handle: FileHandle, bits: number, sharing: Share): Promise<void> {
  const found = await handle.stat();
  if (!found.isFile() && !found.isDirectory()) return;
  if (sharing.group !== undefined && found.gid !== sharing.group) await handle.chown(found.uid, sharing.group);
  const runs = found.isDirectory() || (found.mode & 0o100) !== 0;
  const wanted = ((found.mode & 0o1777) | (runs ? bits : bits & ~0o111)) & (sharing.group === undefined ? MODE : ~0o007);
  await handle.chmod(found.isDirectory() ? wanted | (bits & 0o3000) : wanted);
}

function isClosed(mode: number, { group }: Share): boolean {
  return group === undefined || (mode & 0o007) === 0;
}
