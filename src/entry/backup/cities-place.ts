import { randomUUID } from 'node:crypto';
import { lstat, mkdir, readdir, rename, rm, rmdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ASIDE_INSIDE } from '../../modules/files/directories/set-aside.js';
import { flush, run } from './programs.js';

export { ASIDE_INSIDE };
/** Folder of the file system itself at its mount point. Only root may read it. */
export const NOT_OURS = 'lost+found';

/** How the folder of the cities is replaced. The plan is stored on the disk, so that the next start can go on after a restore was killed. */
export interface CitiesPlan {
  readonly root: string;
  readonly stamp: string;
  /** The folder itself is renamed. False where it cannot be, as a mount point: then its content is replaced. */
  readonly whole: boolean;
  /** The former cities are moved aside: all that is in the folder now has come since. */
  readonly isAside: boolean;
  /** Paths that are put back already. Any other was put there by somebody else. */
  readonly placed: readonly string[];
}

/** @throws Error when neither the folder nor its content can be replaced. Nothing is changed then */
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
    // A city may be a mount point, which cannot be renamed.
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
 * Moves the present cities aside, and puts the folder `from` in their place. Wherever it was ended, it can be called again with the plan that it has stored last:
 * each rename is one step. Of a copy from another file system both may be there then, and the operator has to choose.
 */
export async function placeCities(
  plan: CitiesPlan,
  from: string,
  keep: (plan: CitiesPlan) => Promise<void>,
  tell: (line: string) => void,
): Promise<void> {
  const { root, whole } = plan;
  // Without a stored plan nothing may begin: no later start could go on.
  await keep(plan);
  if (!plan.isAside) {
    await (whole ? wholeAside(plan, tell) : insideAside(plan, tell));
    await keep({ ...plan, isAside: true });
  }
  // Of any stamp: a killed restore may have left some. Folders beside this one may be of other services, so only its own names are removed.
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
  // Told before the first move, so that an operator who ends it in the middle knows where the others are.
  tell(`what was in ${root} is now in ${inside}`);
  for (const name of names) await rename(join(root, name), join(inside, name));
}

const asideOf = ({ root, stamp, whole }: CitiesPlan): string => (whole ? `${root}.before-${stamp}` : join(root, `${ASIDE_INSIDE}${stamp}`));

/** Made for the owner alone: its content was protected by the folders around it. */
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
