import { link, mkdir, open, readFile, readdir, realpath, rename, rm, rmdir } from 'node:fs/promises';
import path from 'node:path';
import type { Failpoints } from '../../../../platform/failpoints/failpoints.js';
import { FILE } from '../../../../platform/isolation/held.js';
import { errnoOf, isAbsent } from '../../../files/composition/trees/paths.js';
import { hashOf, type Scaffold, type ScaffoldPlan } from './plan.js';

/** What one run of a scaffold has really done; undoing it touches nothing else. */
export interface Written {
  readonly dirs: Set<string>;
  readonly files: Set<string>;
  readonly changed: Set<string>;
}

export function nothingWritten(): Written {
  return { dirs: new Set(), files: new Set(), changed: new Set() };
}

/** Raised when the directory changed under the scaffold. */
export class ScaffoldConflict extends Error {}

/**
 * Carries out a plan. Every file appears complete or not at all (temporary file, then link or rename), and a file
 * that somebody put there meanwhile is never replaced. `written` is kept up to date, also when this throws.
 */
export async function applyScaffold({ plan, contents }: Scaffold, written: Written, failpoints: Failpoints): Promise<void> {
  await failpoints.hit('scaffold.before_write');
  for (const dir of plan.dirs) if ((await mkdir(dir, { recursive: true, mode: 0o755 })) !== undefined) written.dirs.add(dir);
  if ((await realpath(plan.dir)) !== plan.dir) throw new ScaffoldConflict(`${plan.dir} became a symbolic link`);
  let first = true;
  for (const file of plan.files) {
    await place(plan, file.path, contents.get(file.path)!, written);
    if (first) await failpoints.hit('scaffold.after_first_file');
    first = false;
  }
  for (const file of plan.changed) await replace(plan, file, contents.get(file.path)!, written);
  await failpoints.hit('scaffold.after_write');
}

async function place(plan: ScaffoldPlan, relative: string, content: string, written: Written): Promise<void> {
  const target = path.join(plan.dir, relative);
  const temporary = await writeTemporary(plan, target, content);
  try {
    await link(temporary, target);
    written.files.add(relative);
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') throw new ScaffoldConflict(`${relative} appeared while the city was being made`);
    if (!WITHOUT_LINKS.has(errnoOf(error) ?? '')) throw error;
    written.files.add(relative);
    await rename(temporary, target);
  } finally {
    await rm(temporary, { force: true });
  }
}

async function replace(plan: ScaffoldPlan, file: ScaffoldPlan['changed'][number], content: string, written: Written): Promise<void> {
  const target = path.join(plan.dir, file.path);
  if ((await hashIn(target)) !== hashOf(file.before)) throw new ScaffoldConflict(`${file.path} changed while the city was being made`);
  const temporary = await writeTemporary(plan, target, content);
  written.changed.add(file.path);
  await rename(temporary, target);
}

async function writeTemporary(plan: ScaffoldPlan, target: string, content: string): Promise<string> {
  const temporary = path.join(path.dirname(target), `${TEMPORARY}${plan.tag}.${path.basename(target)}`);
  const handle = await open(temporary, 'wx', 0o644);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
  return temporary;
}

const TEMPORARY = '.svc-';
/** What file systems without hard links answer; there a rename has to do. */
const WITHOUT_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);

/**
 * Takes a scaffold back: files that still hold what it wrote, temporary files, directories it made that are empty.
 * Without `written` everything of the plan counts as written (the writer is gone). Can be repeated.
 */
export async function undoScaffold(plan: ScaffoldPlan, written?: Written): Promise<void> {
  await removeTemporaries(plan);
  for (const file of plan.changed) {
    if (written !== undefined && !written.changed.has(file.path)) continue;
    const target = path.join(plan.dir, file.path);
    if ((await hashIn(target)) !== file.hash) continue;
    const temporary = await writeTemporary({ ...plan, tag: `${plan.tag}-undo` }, target, file.before);
    await rename(temporary, target);
  }
  for (const file of [...plan.files].reverse()) {
    if (written !== undefined && !written.files.has(file.path)) continue;
    const target = path.join(plan.dir, file.path);
    if ((await hashIn(target)) === file.hash) await rm(target, { force: true });
  }
  for (const dir of [...plan.dirs].reverse()) if (written === undefined || written.dirs.has(dir)) await removeEmpty(dir);
}

/** Nothing is waited for where somebody has put a pipe in the place of a file. */
async function hashIn(target: string): Promise<string | undefined> {
  try {
    return hashOf(await readFile(target, { flag: FILE }));
  } catch (error) {
    if (isAbsent(error) || errnoOf(error) === 'EISDIR' || errnoOf(error) === 'ELOOP') return undefined;
    throw error;
  }
}

async function removeTemporaries(plan: ScaffoldPlan): Promise<void> {
  const places = new Set([...plan.files, ...plan.changed].map((file) => path.dirname(path.join(plan.dir, file.path))));
  for (const place of places) {
    const names = await readdir(place).catch((error: unknown) => {
      if (isAbsent(error)) return [];
      throw error;
    });
    for (const name of names) if (name.startsWith(`${TEMPORARY}${plan.tag}`)) await rm(path.join(place, name), { force: true });
  }
}

async function removeEmpty(dir: string): Promise<void> {
  try {
    await rmdir(dir);
  } catch (error) {
    const code = errnoOf(error);
    if (isAbsent(error) || code === 'ENOTEMPTY' || code === 'EEXIST') return;
    throw error;
  }
}
