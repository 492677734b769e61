import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Guard } from './guard.js';

export const ROOT = join(import.meta.dirname, '../..');

/** What git tracks, as it is now, in a folder that may be changed; beside it packages, and what was built where something was: some tests run that. */
export async function makeCopy(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'svc-guards-'));
  const files = execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' }).split('\0');
  for (const file of files.filter((name) => name !== '')) await cp(join(ROOT, file), join(dir, file), { recursive: true });
  for (const made of ['node_modules', 'dist'])
    if (existsSync(join(ROOT, made))) await symlink(await realpath(join(ROOT, made)), join(dir, made));
  return dir;
}

export const removeCopy = (dir: string): Promise<void> => rm(dir, { recursive: true, force: true });

/** The file of a guard without it; throws when the list is out of date. */
export async function without({ file, find, replace }: Guard, dir: string): Promise<string> {
  const text = await readFile(join(dir, file), 'utf8').catch(() => {
    throw new Error(`out of date: there is no ${file}`);
  });
  const times = text.split(find).length - 1;
  if (times !== 1) throw new Error(`out of date: its text stands ${times} times in ${file}`);
  return text.replace(find, () => replace);
}

/** Does something in a copy while a guard is out. */
export async function taken<T>(guard: Guard, dir: string, work: () => Promise<T>): Promise<T> {
  const file = join(dir, guard.file);
  const changed = await without(guard, dir);
  const text = await readFile(file, 'utf8');
  await writeFile(file, changed);
  try {
    return await work();
  } finally {
    await writeFile(file, text);
  }
}
