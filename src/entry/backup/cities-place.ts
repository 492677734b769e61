import { randomUUID } from 'node:crypto';
import { lstat, mkdir, readdir, rename, rm, rmdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ASIDE_INSIDE } from '../../modules/files/directories/set-aside.js';
import { flush, run } from './programs.js';

export { ASIDE_INSIDE };
/** The file system's own, in a folder where it is mounted: only root may read it. */
export const NOT_OURS = 'lost+found';

/** How the folder of the cities is replaced. It is kept on the disk: whoever is killed in the middle is followed by one who goes on. */
export interface CitiesPlan {
  readonly root: string;
  readonly stamp: string;
  /** False where the folder may not be renamed, as one where a volume is mounted: then what is in it is replaced. */
  readonly whole: boolean;
  /** What was there is moved aside: whatever is there now has come since. */
  readonly isAside: boolean;
  /** What is put back already. Anything else that is there was put there by somebody else. */
  readonly placed: readonly string[];
}

/** @throws Error where neither the folder may be replaced nor what is in it, before anything is touched */
export async function planCities(root: string, stamp: string): Promise<CitiesPlan> {
  const plan = { root, stamp, whole: true, isAside: false, placed: [] };
  const wasThere = await isThere(root);
  const refuse = (error: Error): never => {
    throw new Error(`the folder of the cities, ${root}, cannot be replaced: ${error.message}`, { cause: error });
  };
  await mkdir(root, { recursive: true }).catch(refuse);
  if (await asWhole(root, asideOf(plan))) {
    if (!wasThere) await rmdir(root);
    return plan;
  }
  const inside = asideOf({ ...plan, whole: false });
  await makeInside(inside).catch(refuse);
  try {
    // One of them may be a volume of its own.
    for (const name of await citiesIn(root)) {
      await rename(join(root, name), join(inside, name)).catch(refuse);
      await rename(join(inside, name), join(root, name)).catch((error: Error) => {
        throw new Error(`${name} of ${root} is now in ${inside}, and cannot be put back: ${error.message}`, { cause: error });
      });
    }
  } finally {
    await rmdir(inside).catch(() => undefined);
  }
  return { ...plan, whole: false };
}

/**
 * Moves aside what is there, and puts the folder `from` in the place of it. It may be called again with the plan that it has kept last, wherever
 * it was ended: each thing gets its name in one step; of what was copied from another file system somebody may have to say which of the two stays.
 */
export async function placeCities(
  plan: CitiesPlan,
  from: string,
  keep: (plan: CitiesPlan) => Promise<void>,
  tell: (line: string) => void,
): Promise<void> {
  const { root, whole } = plan;
  // Whoever may not write it down may not begin either: nobody could go on.
  await keep(plan);
  if (!plan.isAside) {
    await (whole ? wholeAside(plan, tell) : insideAside(plan, tell));
    await keep({ ...plan, isAside: true });
  }
  // Whatever the stamp: a restore that was killed may have left some. Beside the folder there may be those of other services.
  const part = whole ? `${root}.part` : join(root, `${ASIDE_INSIDE}part`);
  await removeParts(part);
  let { placed } = plan;
  const place = async (what: string, to: string): Promise<void> => {
    if (await isThere(to)) {
      if (placed.includes(to) || !(await isThere(what))) return;
      if (!(whole && (await isEmpty(to))))
        throw new Error(`${to} is there, and so is what is to be put back there, ${what}: move away the one that shall not be`);
    }
    await move(what, to, part, tell);
    await keep({ ...plan, isAside: true, placed: (placed = [...placed, to]) });
  };
  if (whole) return place(from, root);
  for (const name of await readdir(from))
    if (name !== NOT_OURS)
      await place(join(from, name), join(root, name)).catch((error: Error) => {
        throw new Error(`${name}: ${error.message}`, { cause: error });
      });
}

async function wholeAside(plan: CitiesPlan, tell: (line: string) => void): Promise<void> {
  const { root } = plan;
  const kept = asideOf(plan);
  if (!(await isThere(kept))) {
    if (!(await isThere(root))) return;
    await rename(root, kept);
  }
  tell(`${root} is now ${kept}`);
}

async function insideAside(plan: CitiesPlan, tell: (line: string) => void): Promise<void> {
  const { root } = plan;
  const names = await citiesIn(root);
  const inside = asideOf(plan);
  if (names.length === 0 && !(await isThere(inside))) return;
  await makeInside(inside);
  // Before the first: whoever ends it in the middle looks for the others.
  tell(`what was in ${root} is now in ${inside}`);
  for (const name of names) await rename(join(root, name), join(inside, name));
}

const asideOf = ({ root, stamp, whole }: CitiesPlan): string => (whole ? `${root}.before-${stamp}` : join(root, `${ASIDE_INSIDE}${stamp}`));

/** For nobody else: it has what was closed to others by the folders around it. */
const makeInside = (inside: string): Promise<unknown> => mkdir(inside, { recursive: true, mode: 0o700 });

const citiesIn = async (root: string): Promise<string[]> =>
  (await readdir(root)).filter((name) => name !== NOT_OURS && !name.startsWith(ASIDE_INSIDE));

const isEmpty = (folder: string): Promise<boolean> =>
  readdir(folder).then(
    (names) => names.length === 0,
    () => false,
  );

/** Also a link to what is gone: it has the name that is needed. */
const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  );

async function asWhole(root: string, kept: string): Promise<boolean> {
  try {
    await rename(root, kept);
  } catch {
    return false;
  }
  await rename(kept, root);
  return true;
}

/**
 * To where nothing is, or an empty folder; also to another file system, by way of what `part` begins the name of, so that what has its name is
 * whole. Node's own copy refuses pipes, gives all to one owner and fills holes.
 */
export async function move(from: string, to: string, part = `${to}.part`, tell: (line: string) => void = () => undefined): Promise<void> {
  await rename(from, to).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EXDEV') throw error;
    // Of its own: the copy of one that was killed may still run.
    const copy = `${part}-${randomUUID().slice(0, SUFFIX)}`;
    await removeParts(part);
    tell(`copying ${from} to ${to}, which is on another file system`);
    try {
      await run('cp', ['-a', from, copy]);
      await flush(copy);
      await rename(copy, to);
    } finally {
      // Where there was no room for it the others shall have that.
      await removeParts(part);
    }
  });
}

/** Short: with it the name is no longer than that of what is moved aside. */
const SUFFIX = 8;
const ENDS_AS_PART = /^-[0-9a-f]{8}$/;

/** As far as nobody still writes there. */
async function removeParts(part: string): Promise<void> {
  for (const name of await readdir(dirname(part)).catch(() => []))
    if (name.startsWith(basename(part)) && ENDS_AS_PART.test(name.slice(basename(part).length)))
      await rm(join(dirname(part), name), { recursive: true, force: true }).catch(() => undefined);
}
