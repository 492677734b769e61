import { createReadStream } from 'node:fs';
import { lstat, open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createGunzip } from 'node:zlib';

/** Refuses to write a backup in place of what is something else: a folder, a device, a file with another content. @throws Error */
export async function checkTarget(file: string, first: string, replace: boolean): Promise<void> {
  const there = await lstat(file).catch(() => undefined);
  if (there === undefined) return;
  if (!there.isFile()) throw new Error(`${file} is no file that a backup could take the place of`);
  if (replace || there.size === 0 || (await beginsWith(file, first))) return;
  throw new Error(`${file} is there, and no backup of svc: name another file, or say --replace`);
}

/** Whether it is a compressed archive with this as its first member, whose name is first in it. */
async function beginsWith(file: string, member: string): Promise<boolean> {
  const source = createReadStream(file);
  const content = source.pipe(createGunzip());
  source.once('error', (error) => content.destroy(error));
  let begin = Buffer.alloc(0);
  try {
    for await (const chunk of content) {
      begin = Buffer.concat([begin, chunk as Buffer]);
      if (begin.length > member.length) break;
    }
  } catch {
    // What is cut off, or no such archive, does not say so.
  } finally {
    source.destroy();
  }
  return begin.subarray(0, member.length + 1).equals(Buffer.from(`${member}\0`));
}

/** Gives what is whole its name, and has it on the disk before anybody is told, with its name where that can be: a machine that loses power then keeps it. */
export async function settle(part: string, file: string): Promise<void> {
  await synced(part, 'r+');
  await rename(part, file);
  // Not every file system can, nor every folder be read; then a machine that loses power just now may keep the file of before.
  await synced(dirname(file), 'r').catch(() => undefined);
}

async function synced(path: string, flags: string): Promise<void> {
  const handle = await open(path, flags);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
