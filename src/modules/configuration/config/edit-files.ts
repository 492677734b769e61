import { lstat, open, readlink, realpath, rename, rm, rmdir } from 'node:fs/promises';
import path from 'node:path';
import { inFolderOf, inMadeFolderOf } from '../../../platform/runtime/preparation/held-folder.js';
import { removeTree } from '../../../platform/runtime/preparation/remove-tree.js';
import { StartError } from '../../../platform/runtime/port.js';
import { errnoOf, isAbsent, isBelow } from '../../files/composition/trees/paths.js';
import { hashOf, type EditPlan } from './edit-plan.js';
import { hashAt, NO_FILE, place, swap } from './swap.js';

/** The files are not what the edit was made from. */
export class EditConflict extends Error {
  constructor(
    readonly path: string,
    readonly expected: string,
    readonly found: string,
  ) {
    super(`${path} was edited meanwhile`);
    this.name = 'EditConflict';
  }
}

type Write = EditPlan['writes'][number];

const TEMPORARY = '.svc-';
/** What taking away a folder says that is not there, no folder or not empty. */
const STAYS = new Set(['ENOENT', 'ENOTDIR', 'ENOTEMPTY', 'EEXIST']);
/** More than a path that exists can go through. */
const MAX_LINKS = 64;
/** Where folders wait that an edit takes away; never looked at as configuration. */
const ASIDE = '.gc/cache/removed';

/**
 * Carries out a plan: every file appears complete or not at all, and only while it still holds what the plan says. Whoever saves
 * a file at the same moment wins.
 *
 * @throws EditConflict; errors of the disk and of `between` go through. What was done until then stays: only who still has the edit may
 * take it back, with `undoPlan`.
 */
export async function applyPlan(dir: string, plan: EditPlan, between: () => Promise<void>): Promise<void> {
  for (const write of plan.writes) {
    await writeFile(dir, plan.id, write);
    await between();
  }
  for (const removal of plan.removals) await putAside(dir, plan, removal);
}

/** Completes a plan with the folders that it is going to make, so that they can be taken back as well. */
export async function withFolders(dir: string, plan: EditPlan): Promise<EditPlan> {
  const folders = new Set<string>();
  for (const { path: relative, before } of plan.writes) {
    if (before !== null) continue;
    for (let at = path.dirname(relative); at !== '.' && !(await exists(path.join(dir, at))); at = path.dirname(at)) folders.add(at);
  }
  return { ...plan, folders: [...folders].sort() };
}

/** Takes a plan back, as far as the files still hold what it wrote. Can be repeated. */
export async function undoPlan(dir: string, plan: EditPlan): Promise<void> {
  for (const removal of [...plan.removals].reverse()) await putBack(dir, plan.id, removal);
  for (const write of [...plan.writes].reverse()) await undoWrite(dir, plan.id, write);
  for (const folder of [...(plan.folders ?? [])].reverse()) await undoFolder(dir, folder);
}

/**
 * Whether the folder holds a city, or anything of one that the plan has replaced or put aside. Where a volume is not mounted lies another folder, which is
 * empty, or has what sessions made there themselves, or whatever somebody has left, or what the plan itself has made when the volume went away
 * meanwhile. Who dies while he exchanges a `city.toml` leaves it under another name.
 */
export async function hasFiles(dir: string, { id, writes, removals }: EditPlan): Promise<boolean> {
  const names = [path.join(dir, 'city.toml'), ...removals.map((removal) => path.join(dir, ASIDE, id, removal))];
  for (const { path: relative, before } of writes) {
    const target = before === null ? undefined : await targetOf(dir, relative).catch(() => undefined);
    if (target !== undefined) names.push(target, ...Object.values(namesOf(target, id)));
  }
  for (const name of names) if (await exists(name)) return true;
  return false;
}

/** Folders that somebody else has put something into stay. */
async function undoFolder(dir: string, folder: string): Promise<void> {
  const target = await targetOf(dir, folder).catch(() => undefined);
  if (target === undefined) return;
  await rmdir(target).catch((error: unknown) => {
    if (!STAYS.has(errnoOf(error) ?? '')) throw error;
  });
}

async function undoWrite(dir: string, id: string, write: Write): Promise<void> {
  // Where there is no place inside the city, nothing was written.
  const real = await targetOf(dir, write.path).catch(() => undefined);
  if (real === undefined || !(await exists(path.dirname(real)))) return;
  await held(write.path, () => inFolderOf(real, (target) => undoAt(target, id, write)));
}

async function undoAt(target: string, id: string, { before, after }: Write): Promise<void> {
  const { old, undone } = namesOf(target, id);
  const ours = hashOf(after);
  // Whoever died while there was no file has left what was there under one of these names.
  if (hashAt(target) === NO_FILE && !placed(old, target) && hashAt(undone) !== ours) placed(undone, target);
  const now = hashAt(target);
  if (now === ours || (now === NO_FILE && hashAt(undone) === ours)) {
    const next = before === null ? undefined : hashAt(old) === NO_FILE ? await writeTemporary(target, before, id) : old;
    if (now === ours) swap(target, next, ours, undone);
    else if (next !== undefined) place(next, target);
  }
  await syncDirectory(path.dirname(target));
  await removeTemporaries(target, id);
}

/** Gives up what was put aside, once the edit stands. */
export async function forgetRemoved(dir: string, plan: EditPlan): Promise<void> {
  if (plan.removals.length > 0) await removeTree(path.join(dir, ASIDE, plan.id));
}

async function writeFile(dir: string, id: string, write: Write): Promise<void> {
  const { path: relative, before, after } = write;
  const real = await targetOf(dir, relative);
  const isStill = async (): Promise<boolean> => (await targetOf(dir, relative)) === real;
  await held(relative, () =>
    before === null
      ? inMadeFolderOf(dir, real, (target) => createNew(target, after, id, relative))
      : inFolderOf(real, (target) => replace(target, { ...write, before }, id, isStill)),
  );
}

async function replace(
  target: string,
  { path: relative, before, after }: Write & { readonly before: string },
  id: string,
  isStill: () => Promise<boolean>,
): Promise<void> {
  const expected = hashOf(before);
  const { old, undone } = namesOf(target, id);
  const temporary = await writeTemporary(target, after, id);
  try {
    const found = hashAt(target) === expected ? swap(target, temporary, expected, old) : hashAt(target);
    if (found !== undefined) throw new EditConflict(relative, expected, found);
    await syncDirectory(path.dirname(target));
    // Whoever had the old file open may have written into it until now. They get the very file back: they may not be through.
    const late = (await isStill()) ? hashAt(old) : 'a link to another file';
    if (late !== expected) {
      swap(target, old, hashOf(after), undone);
      throw new EditConflict(relative, expected, late);
    }
  } catch (error) {
    // Whoever takes the edit back finds the file under the name that it has left, also one that was saved late and is not back yet.
    if (error instanceof EditConflict && (await exists(target))) await removeTemporaries(target, id);
    else await rm(temporary, { force: true });
    throw error;
  }
  await removeTemporaries(target, id);
}

async function createNew(target: string, after: string, id: string, relative: string): Promise<void> {
  const temporary = await writeTemporary(target, after, id);
  try {
    if (!place(temporary, target)) throw new EditConflict(relative, NO_FILE, hashAt(target));
    await syncDirectory(path.dirname(target));
  } finally {
    await removeTemporaries(target, id);
  }
}

async function putAside(dir: string, { id, removed }: EditPlan, relative: string): Promise<void> {
  const real = await targetOf(dir, relative);
  const expected = removed?.[relative];
  await held(relative, () =>
    inMadeFolderOf(dir, path.join(dir, ASIDE, id, relative), async (aside) => {
      try {
        await inFolderOf(real, (target) => rename(target, aside));
      } catch (error) {
        if (errnoOf(error) === 'ENOENT') throw new EditConflict(relative, expected ?? 'a directory', 'nothing');
        throw error;
      }
      // Whoever takes the plan back puts it where it was.
      const found = expected === undefined ? undefined : hashAt(aside);
      if (found !== expected) throw new EditConflict(relative, expected!, found!);
    }),
  );
}

async function putBack(dir: string, id: string, relative: string): Promise<void> {
  const aside = path.join(dir, ASIDE, id, relative);
  if (!(await exists(aside))) return;
  const target = await targetOf(dir, relative).catch(() => undefined);
  // Somebody made another one meanwhile: theirs counts, and the old one stays where it is for them to find.
  if (target === undefined || (await exists(target))) return;
  // What lies behind a link was not put aside here.
  const isBack = await inFolderOf(aside, (from) => inFolderOf(target, (to) => rename(from, to)).catch(asOfDisk)).then(
    () => true,
    (error: unknown) => {
      if (error instanceof StartError) return false;
      throw error;
    },
  );
  if (!isBack) return;
  try {
    for (let at = path.dirname(aside); at !== path.join(dir, ASIDE); at = path.dirname(at)) await rmdir(at);
  } catch {
    // Something else waits there too.
  }
}

/** Folders that have become links, or lie behind one, since a path was looked at lead to files of others. @throws EditConflict */
async function held<T>(relative: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StartError) throw new EditConflict(relative, 'a folder of the city above it', 'something else there');
    throw error;
  }
}

/** Whoever makes it a folder again gets what was taken away put back. */
function asOfDisk(error: unknown): never {
  throw error instanceof StartError ? Object.assign(new Error(error.message, { cause: error }), { code: 'ENOTDIR' }) : error;
}

/** Where a write goes: links inside the city are followed, so that they stay links. */
async function targetOf(dir: string, relative: string): Promise<string> {
  const real = await resolved(path.join(dir, relative));
  if (!isBelow(dir, real)) throw new EditConflict(relative, 'a file inside the city', 'a link that leads out of it');
  return real;
}

/** A real path, also of what is not there (yet): that of the directories above it, or where a link to it leads. */
async function resolved(written: string, links = 0): Promise<string> {
  try {
    return await realpath(written);
  } catch (error) {
    if (!isAbsent(error) || links > MAX_LINKS) throw error;
  }
  const parent = await resolved(path.dirname(written), links + 1);
  const at = path.join(parent, path.basename(written));
  const link = await readlink(at).catch(() => undefined);
  return link === undefined ? at : resolved(path.resolve(parent, link), links + 1);
}

/** What an edit calls the old file while it is replaced, and the new one while it is taken back. */
function namesOf(target: string, id: string): { old: string; undone: string } {
  return { old: temporaryOf(target, `${id}.old`), undone: temporaryOf(target, `${id}.undone`) };
}

function temporaryOf(target: string, tag: string): string {
  return path.join(path.dirname(target), `${TEMPORARY}${tag}.${path.basename(target)}`);
}

/** A file of its own: agents know the name from the files before, and may have put a link, a pipe or another name of a file there. */
async function writeTemporary(target: string, content: string, id: string): Promise<string> {
  const temporary = temporaryOf(target, `${id}.new`);
  await rm(temporary, { force: true });
  const handle = await open(temporary, 'wx', 0o644);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
  return temporary;
}

/** Never the last name of a file: those are taken away only once there is a file in the target's place, or is to be none. */
async function removeTemporaries(target: string, id: string): Promise<void> {
  const { old, undone } = namesOf(target, id);
  for (const name of [temporaryOf(target, `${id}.new`), old, undone]) await rm(name, { force: true });
}

async function syncDirectory(at: string): Promise<void> {
  const handle = await open(at, 'r').catch(() => undefined);
  // Not every file system can; then a crash of the machine may lose the newest name, never a mixture.
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}

/** As `place`, for what may not be there. */
function placed(from: string, to: string): boolean {
  return hashAt(from) !== NO_FILE && place(from, to);
}

async function exists(at: string): Promise<boolean> {
  return lstat(at).then(
    () => true,
    () => false,
  );
}
