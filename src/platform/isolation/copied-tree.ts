import { lstat, mkdir, open, opendir, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { FOLDER } from '../runtime/preparation/held-folder.js';
import { StartError } from '../runtime/port.js';
import { FILE, heldAt } from './held.js';

const MAX_DEPTH = 64;
const PIECE = 64 * 1024;

/** What may be copied at the most. */
export interface CopyLimits {
  readonly bytes: number;
  readonly files: number;
}

/**
 * Copies the files of a folder through folders that are held open and through no link, whatever becomes of it meanwhile; what is neither
 * a file nor a folder is left out.
 *
 * @param to is not there yet
 * @throws StartError unsupported when it is a link, lies behind one, or is too large
 */
export async function copyTree(from: string, to: string, limits: CopyLimits): Promise<void> {
  const held = await heldAt(from);
  try {
    await copyInto(held, to, { ...limits }, 0);
  } finally {
    await held.close();
  }
}

async function copyInto(held: FileHandle, to: string, left: { bytes: number; files: number }, depth: number): Promise<void> {
  if (depth > MAX_DEPTH) throw tooLarge();
  await mkdir(to);
  const at = `/proc/self/fd/${held.fd}`;
  for await (const { name } of await opendir(at)) {
    if (--left.files < 0) throw tooLarge();
    const entry = path.posix.join(at, name);
    const found = await lstat(entry);
    if (!found.isFile() && !found.isDirectory()) continue;
    const handle = await open(entry, found.isDirectory() ? FOLDER : FILE);
    try {
      if (found.isDirectory()) await copyInto(handle, path.join(to, name), left, depth + 1);
      else if ((await handle.stat()).isFile()) await copyFile(handle, path.join(to, name), left);
    } finally {
      await handle.close();
    }
  }
}

async function copyFile(from: FileHandle, to: string, left: { bytes: number }): Promise<void> {
  const into = await open(to, 'wx');
  try {
    const piece = Buffer.allocUnsafe(PIECE);
    for (;;) {
      const { bytesRead } = await from.read(piece, 0, PIECE);
      if (bytesRead === 0) return;
      if ((left.bytes -= bytesRead) < 0) throw tooLarge();
      await into.writeFile(piece.subarray(0, bytesRead));
    }
  } finally {
    await into.close();
  }
}

function tooLarge(): StartError {
  return new StartError('unsupported', 'it is too large to be copied');
}
