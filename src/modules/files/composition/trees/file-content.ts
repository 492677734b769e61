import { createHash } from 'node:crypto';
import { constants, type BigIntStats } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { TreeFailure } from './file-tree.js';

const CHUNK_BYTES = 64 * 1024;
/** A link in the last place is refused by the system, and opening a pipe does not wait for its other end. */
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

export interface Content {
  /** The file's state just before it was read. */
  readonly found: BigIntStats;
  readonly sha256: string;
  readonly bytes: Buffer | undefined;
}

/**
 * Reads a file once, hashing it, and holds it in memory only when asked to.
 *
 * @param at its real path. @param name what a failure calls it.
 * @throws TreeFailure when it is no regular file, too large, or grows meanwhile.
 */
export async function readContent(at: string, name: string, maxBytes: number, keep: boolean): Promise<Content> {
  const handle = await open(at, FLAGS);
  try {
    const found = await handle.stat({ bigint: true });
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
    return { found, sha256: hash.digest('hex'), bytes: keep ? buffer.subarray(0, total) : undefined };
  } finally {
    await handle.close();
  }
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
