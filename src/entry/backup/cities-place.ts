import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ASIDE_INSIDE } from '../../modules/files/directories/set-aside.js';
import { run } from './programs.js';

export { ASIDE_INSIDE };
/** The file system's own, in a folder where it is mounted: only root may read it. */
export const NOT_OURS = 'lost+found';

/** Moves aside what is there, and puts the folder at a path in the place of it. */
export type PutCities = (from: string) => Promise<void>;

/**
 * How the folder of the cities is replaced: as a whole, or what is in it where it may not be renamed, as one where a volume is mounted. Found
 * out before anything is touched.
 *
 * @throws Error where neither may be done
 */
export async function citiesPlace(root: string, stamp: string, tell: (line: string) => void): Promise<PutCities> {
  const wasThere = existsSync(root);
  const refuse = (error: Error): never => {
    throw new Error(`the folder of the cities, ${root}, cannot be replaced: ${error.message}`, { cause: error });
  };
  await mkdir(root, { recursive: true }).catch(refuse);
  const kept = `${root}.before-${stamp}`;
  if (await asWhole(root, kept)) {
    if (!wasThere) await rmdir(root);
    return async (from) => {
      if (wasThere) {
        await rename(root, kept);
        tell(`${root} is now ${kept}`);
      }
      await move(from, root);
    };
  }
  const inside = join(root, `${ASIDE_INSIDE}${stamp}`);
  const entries = async (): Promise<string[]> =>
    (await readdir(root)).filter((name) => name !== NOT_OURS && !name.startsWith(ASIDE_INSIDE));
  // For nobody else: it has what was closed to others by the folders around it.
  const make = (): Promise<unknown> => mkdir(inside, { mode: 0o700 });
  await make().catch(refuse);
  try {
    // One of them may be a volume of its own.
    for (const name of await entries()) {
      await rename(join(root, name), join(inside, name)).catch(refuse);
      await rename(join(inside, name), join(root, name)).catch((error: Error) => {
        throw new Error(`${name} of ${root} is now in ${inside}, and cannot be put back: ${error.message}`, { cause: error });
      });
    }
  } finally {
    await rmdir(inside).catch(() => undefined);
  }
  return async (from) => {
    const names = await entries();
    if (names.length > 0) {
      await make();
      // Before the first: whoever ends it in the middle looks for the others.
      tell(`what was in ${root} is now in ${inside}`);
    }
    for (const name of names) await rename(join(root, name), join(inside, name));
    for (const name of await readdir(from)) if (name !== NOT_OURS) await move(join(from, name), join(root, name));
  };
}

async function asWhole(root: string, kept: string): Promise<boolean> {
  try {
    await rename(root, kept);
  } catch {
    return false;
  }
  await rename(kept, root);
  return true;
}

/** Also to another file system, to where nothing is. Node's own copy refuses pipes, gives all to one owner and fills holes. */
export async function move(from: string, to: string): Promise<void> {
  await rename(from, to).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EXDEV') throw error;
    await run('cp', ['-a', from, to]);
  });
}
