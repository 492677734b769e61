import { lstat, readdir, realpath } from 'node:fs/promises';
import path from 'node:path';

export interface LeftFolders {
  /** Where they were made. */
  readonly above: string;
  /** What the names of all of them begin with. */
  readonly prefix: string;
  /** Younger ones may be in use. */
  readonly olderThanMs: number;
  readonly now: number;
}

/** Folders of this user that processes which were killed may have left. */
export async function* leftFolders({ above, prefix, olderThanMs, now }: LeftFolders): AsyncGenerator<string> {
  const real = await realpath(above).catch(() => above);
  for (const name of await readdir(real).catch((): string[] => [])) {
    if (!name.startsWith(prefix)) continue;
    const folder = path.join(real, name);
    const found = await lstat(folder).catch(() => undefined);
    if (found?.isDirectory() === true && found.uid === process.getuid?.() && now - found.mtimeMs >= olderThanMs) yield folder;
  }
}
