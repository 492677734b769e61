import { createHash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { open, realpath, type FileHandle } from 'node:fs/promises';
import { processPlaces } from '../../../../platform/disk/disk-places.js';
import { FILE } from '../../../../platform/isolation/held.js';
import { liesAt } from '../../../../platform/runtime/preparation/held-folder.js';
import { TreeFailure } from './file-tree.js';
import { errnoOf } from './paths.js';

const CHUNK_BYTES = 64 * 1024;
/** How often a file is opened that others move away meanwhile. */
const TRIES = 3;
/** What the system says of a link in the last place, and of what is no folder. */
const IN_THE_WAY = new Set(['ENOTDIR', 'ELOOP']);

export interface Content {
  /** The file's state just before it was read. */
  readonly found: BigIntStats;
  /** By the clock, before it was read. */
  readonly foundAt: number;
  readonly sha256: string;
  readonly bytes: Buffer | undefined;
}

/**
 * Reads a file once, hashing it, and holds it in memory only when asked to.
 *
 * @param at its real path. @param name what a failure calls it.
 * @throws TreeFailure when it is no regular file, too large, grows meanwhile, or lies behind a link by now.
 */
export function readContent(at: string, name: string, maxBytes: number, keep: boolean): Promise<Content> {
  return processPlaces.run(at, () => readAt(at, name, maxBytes, keep));
}

async function readAt(at: string, name: string, maxBytes: number, keep: boolean): Promise<Content> {
  const handle = await openAt(at, name, FILE);
  try {
    const found = await handle.stat({ bigint: true });
    const foundAt = Date.now();
    checkKind(found, name);
    checkSize(Number(found.size), name, maxBytes);
    const expected = Number(found.size);
    const hash = createHash('sha256');
    const buffer = Buffer.allocUnsafe(keep ? expected + 1 : Math.min(expected + 1, CHUNK_BYTES));
    let total = 0;
    for (;;) {
      const read = await readSome(handle, buffer, keep ? total : 0);
      if (read === 0) break;
      hash.update(buffer.subarray(keep ? total : 0, (keep ? total : 0) + read));
      total += read;
      if (total > expected) throw new TreeFailure(name, 'it grows while it is read', true);
    }
    return { found, foundAt, sha256: hash.digest('hex'), bytes: keep ? buffer.subarray(0, total) : undefined };
  } finally {
    await handle.close();
  }
}

/**
 * Opens what lies at a real path. Agents may change a folder on the way into a link after the path was found: then what was opened lies
 * elsewhere, in another city or beside the service's keys.
 *
 * @param flags refuse a link in the last place
 * @throws TreeFailure, for this moment, when it lies behind a link by now; what the system says when it cannot be opened
 */
export async function openAt(at: string, name: string, flags: number): Promise<FileHandle> {
  for (let tries = 1; ; tries++) {
    const handle = await open(at, flags).catch(async (error: unknown) => {
      if (!IN_THE_WAY.has(errnoOf(error) ?? '') || (await isReal(at))) throw error;
    });
    // Whoever saves a file takes the old one away.
    if (handle !== undefined && liesAt(handle, at, `${at} (deleted)`)) return handle;
    await handle?.close();
    if (tries === TRIES) throw new TreeFailure(name, 'it changes while it is read', true);
  }
}

/** False when a link has come into the path. */
async function isReal(at: string): Promise<boolean> {
  return (await realpath(at).catch(() => undefined)) === at;
}

async function readSome(handle: FileHandle, buffer: Buffer, offset: number): Promise<number> {
  return (await handle.read(buffer, offset, buffer.length - offset)).bytesRead;
}

/** @throws TreeFailure for a directory, device, pipe or socket. */
export function checkKind(found: BigIntStats, name: string): void {
  if (found.isFile()) return;
  throw new TreeFailure(name, found.isDirectory() ? 'it is a directory, not a file' : 'it is a device, pipe or socket, not a file');
}

/** @throws TreeFailure */
export function checkSize(bytes: number, name: string, maxBytes: number): void {
  if (bytes > maxBytes) throw new TreeFailure(name, `it is larger than ${maxBytes / (1024 * 1024)} MiB`);
}
