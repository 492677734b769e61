import { constants } from 'node:fs';
import { link, lstat, mkdir, open, readdir, realpath, rename, rm, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { errnoOf, isBelow } from '../composition/trees/paths.js';
import { hashOf, type EditPlan } from './edit-plan.js';

/** The files are not what the edit was made from. Nothing of the edit is left in them. */
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

const TEMPORARY = '.svc-';
/** Where folders wait that an edit takes away; never looked at as configuration. */
const ASIDE = '.gc/cache/removed';

/**
 * Carries out a plan: every file appears complete or not at all, and only while it still holds what the plan says. What
 * was done before a conflict is taken back. Somebody who writes into the very file that is being replaced wins.
 *
 * @throws EditConflict; errors of the disk go through, with everything taken back.
 */
export async function applyPlan(dir: string, plan: EditPlan, between: () => Promise<void>): Promise<void> {
  try {
    for (const write of plan.writes) {
      await writeFile(dir, plan.id, write);
      await between();
    }
    for (const removal of plan.removals) await putAside(dir, plan.id, removal);
  } catch (error) {
    await undoPlan(dir, plan);
    throw error;
  }
}

/** Takes a plan back, as far as the files still hold what it wrote. Can be repeated. */
export async function undoPlan(dir: string, plan: EditPlan): Promise<void> {
  await removeTemporaries(dir, plan);
  for (const removal of [...plan.removals].reverse()) await putBack(dir, plan.id, removal);
  for (const { path: relative, before, after } of [...plan.writes].reverse()) {
    const target = await targetOf(dir, relative).catch(() => undefined);
    if (target === undefined || (await hashIn(target)) !== hashOf(after)) continue;
    if (before === null) await rm(target, { force: true });
    else await replace(target, before, `${plan.id}-undo`);
  }
}

/** Gives up what was put aside, once the edit stands. */
export async function forgetRemoved(dir: string, plan: EditPlan): Promise<void> {
  if (plan.removals.length > 0) await rm(path.join(dir, ASIDE, plan.id), { recursive: true, force: true });
}

async function writeFile(dir: string, id: string, { path: relative, before, after }: EditPlan['writes'][number]): Promise<void> {
  const target = await targetOf(dir, relative);
  if (before === null) {
    await createNew(target, after, id, relative);
    return;
  }
  const expected = hashOf(before);
  const temporary = await writeTemporary(target, after, id);
  let old: FileHandle | undefined;
  try {
    old = await open(target, constants.O_RDONLY).catch(() => undefined);
    const found = old === undefined ? 'no file' : hashOf(await old.readFile());
    if (found !== expected) throw new EditConflict(relative, expected, found);
    await (old as FileHandle).stat().then(({ mode }) => chmodOf(temporary, mode));
    await rename(temporary, target);
    await syncDirectory(path.dirname(target));
    // Whoever had the old file open may have written into it until now: that edit must not be lost.
    const late = await readFrom(old as FileHandle);
    if (hashOf(late) !== expected) {
      if ((await hashIn(target)) === hashOf(after)) await replace(target, late, `${id}-late`);
      throw new EditConflict(relative, expected, hashOf(late));
    }
  } finally {
    await old?.close();
    await rm(temporary, { force: true });
  }
}

async function createNew(target: string, after: string, id: string, relative: string): Promise<void> {
  await mkdir(path.dirname(target), { recursive: true, mode: 0o755 });
  const temporary = await writeTemporary(target, after, id);
  try {
    await link(temporary, target);
    await syncDirectory(path.dirname(target));
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
    throw new EditConflict(relative, 'no file', (await hashIn(target)) ?? 'something else');
  } finally {
    await rm(temporary, { force: true });
  }
}

async function putAside(dir: string, id: string, relative: string): Promise<void> {
  const target = await targetOf(dir, relative);
  const aside = path.join(dir, ASIDE, id, relative);
  await mkdir(path.dirname(aside), { recursive: true, mode: 0o755 });
  try {
    await rename(target, aside);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') throw new EditConflict(relative, 'a directory', 'nothing');
    throw error;
  }
}

async function putBack(dir: string, id: string, relative: string): Promise<void> {
  const aside = path.join(dir, ASIDE, id, relative);
  if (!(await exists(aside))) return;
  const target = path.join(dir, relative);
  // Somebody made another one meanwhile: theirs counts, and the old one stays where it is for them to find.
  if (await exists(target)) return;
  await rename(aside, target);
}

/** Where a write goes: links inside the city are followed, so that they stay links. */
async function targetOf(dir: string, relative: string): Promise<string> {
  const written = path.join(dir, relative);
  const real = await realpath(written).catch((error: unknown) => {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return undefined;
    throw error;
  });
  if (real !== undefined) {
    if (!isBelow(dir, real)) throw new EditConflict(relative, 'a file inside the city', 'a link that leads out of it');
    return real;
  }
  let parent = path.dirname(written);
  while (!(await exists(parent))) parent = path.dirname(parent);
  const inside = await realpath(parent);
  if (inside !== dir && !isBelow(dir, inside)) throw new EditConflict(relative, 'a file inside the city', 'a link that leads out of it');
  return path.join(inside, path.relative(parent, written));
}

async function replace(target: string, content: string | Buffer, tag: string): Promise<void> {
  const temporary = await writeTemporary(target, content, tag);
  await rename(temporary, target);
}

async function writeTemporary(target: string, content: string | Buffer, tag: string): Promise<string> {
  const temporary = path.join(path.dirname(target), `${TEMPORARY}${tag}.${path.basename(target)}`);
  const handle = await open(temporary, 'w', 0o644);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
  return temporary;
}

async function chmodOf(at: string, mode: number): Promise<void> {
  const handle = await open(at, 'r+');
  await handle.chmod(mode & 0o7777).finally(() => handle.close());
}

async function readFrom(handle: FileHandle): Promise<Buffer> {
  const { size } = await handle.stat();
  const buffer = Buffer.alloc(size);
  const { bytesRead } = await handle.read(buffer, 0, size, 0);
  return buffer.subarray(0, bytesRead);
}

async function hashIn(at: string): Promise<string | undefined> {
  const handle = await open(at, 'r').catch(() => undefined);
  if (handle === undefined) return undefined;
  try {
    return (await handle.stat()).isFile() ? hashOf(await handle.readFile()) : undefined;
  } finally {
    await handle.close();
  }
}

async function removeTemporaries(dir: string, plan: EditPlan): Promise<void> {
  for (const place of new Set(plan.writes.map((write) => path.dirname(path.join(dir, write.path))))) {
    const names = await readdir(place).catch(() => []);
    for (const name of names) if (name.startsWith(`${TEMPORARY}${plan.id}`)) await rm(path.join(place, name), { force: true });
  }
}

async function syncDirectory(at: string): Promise<void> {
  const handle = await open(at, 'r').catch(() => undefined);
  // Not every file system can; then a crash of the machine may lose the newest name, never a mixture.
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}

async function exists(at: string): Promise<boolean> {
  return lstat(at).then(
    () => true,
    () => false,
  );
}
