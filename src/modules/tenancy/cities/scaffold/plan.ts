import { createHash } from 'node:crypto';
import { lstat, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { problem } from '../../../../contract/problems.js';
import { FILE } from '../../../../platform/isolation/held.js';
import { isAbsent } from '../../../files/composition/trees/paths.js';
import { CONVENTION_DIRS, extendIgnore, MAYOR, RUNTIME_DIRS, scaffoldFiles, type CityFacts } from './files.js';

/**
 * What a scaffold is going to do to a directory, precise enough to undo it from the plan alone: after a crash the
 * process that made it is gone. A file is undone only while it holds what the scaffold wrote.
 */
export const ScaffoldPlan = z.object({
  dir: z.string(),
  /** Tells the temporary files of this scaffold from all others. */
  tag: z.string(),
  /** Absolute directories that do not exist yet, outermost first. */
  dirs: z.array(z.string()),
  /** New files, relative to `dir`, with the hash of what they will hold. */
  files: z.array(z.object({ path: z.string(), hash: z.string() })),
  /** Files of the user that will be extended, with what they held before. */
  changed: z.array(z.object({ path: z.string(), hash: z.string(), before: z.string() })),
});
export type ScaffoldPlan = z.infer<typeof ScaffoldPlan>;

export interface Scaffold {
  readonly plan: ScaffoldPlan;
  readonly contents: ReadonlyMap<string, string>;
}

type Kind = 'file' | 'directory' | undefined;
/** What lies at a path inside the city. */
type Look = (relative: string) => Promise<Kind>;

const MAX_IGNORE_BYTES = 256 * 1024;

export function hashOf(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

/** True when the directory already holds a city: its config file, or the complete runtime tree. */
export async function isScaffolded(dir: string): Promise<boolean> {
  if (await is(path.join(dir, 'city.toml'), 'file')) return true;
  for (const runtime of RUNTIME_DIRS) if (!(await is(path.join(dir, runtime), 'directory'))) return false;
  return is(path.join(dir, '.gc/events.jsonl'), 'file');
}

/** Looks at the directory and plans the scaffold. Writes nothing. @throws ProblemError validation_failed */
export async function planScaffold(dir: string, facts: CityFacts, tag: string): Promise<Scaffold> {
  const dirs: string[] = [];
  for (let at = dir; !(await is(at, 'directory')); at = path.dirname(at)) dirs.unshift(at);
  // In a directory that is not there nothing has to be looked for.
  const look: Look = dirs.length > 0 ? () => Promise.resolve(undefined) : (relative) => kindOf(dir, relative);
  for (const sub of [...RUNTIME_DIRS, ...CONVENTION_DIRS, `agents/${MAYOR}`]) {
    const found = await look(sub);
    if (found === undefined) dirs.push(path.join(dir, sub));
    else if (found !== 'directory') throw blocked(sub, 'is not a directory');
  }
  const files: ScaffoldPlan['files'] = [];
  const contents = new Map<string, string>();
  for (const { path: at, content } of scaffoldFiles(facts)) {
    const found = await look(at);
    if (found === 'directory') throw blocked(at, 'is a directory');
    if (found === 'file') continue; // the user's own; it stays
    files.push({ path: at, hash: hashOf(content) });
    contents.set(at, content);
  }
  const changed: ScaffoldPlan['changed'] = [];
  const ignore = await planIgnore(dir, look);
  if (ignore !== undefined) {
    contents.set('.gitignore', ignore.after);
    const entry = { path: '.gitignore', hash: hashOf(ignore.after) };
    if (ignore.before === undefined) files.unshift(entry);
    else changed.push({ ...entry, before: ignore.before });
  }
  return { plan: { dir, tag, dirs, files, changed }, contents };
}

async function planIgnore(dir: string, look: Look): Promise<{ before: string | undefined; after: string } | undefined> {
  const found = await look('.gitignore');
  if (found === 'directory') throw blocked('.gitignore', 'is a directory');
  if (found === undefined) return { before: undefined, after: extendIgnore('')! };
  const bytes = await readFile(path.join(dir, '.gitignore'), { flag: FILE });
  if (bytes.length > MAX_IGNORE_BYTES) return undefined; // nobody's ignore file is that long: leave it alone
  const before = bytes.toString('utf8');
  if (!Buffer.from(before).equals(bytes) || before.includes('\0')) return undefined;
  const after = extendIgnore(before);
  return after === undefined ? undefined : { before, after };
}

/** What lies at a path inside the city; no part of it may be a symbolic link, or writing would leave the directory. */
async function kindOf(dir: string, relative: string): Promise<Kind> {
  let at = dir;
  for (const part of relative.split('/')) {
    at = path.join(at, part);
    const found = await lstat(at).catch((error: unknown) => {
      if (isAbsent(error)) return undefined;
      throw error;
    });
    if (found === undefined) return undefined;
    if (found.isSymbolicLink()) throw blocked(path.relative(dir, at), 'is a symbolic link');
    if (!found.isDirectory() && at !== path.join(dir, relative)) throw blocked(path.relative(dir, at), 'is not a directory');
    if (!found.isDirectory() && !found.isFile()) throw blocked(path.relative(dir, at), 'is a device, pipe or socket');
    if (at === path.join(dir, relative)) return found.isDirectory() ? 'directory' : 'file';
  }
  return undefined;
}

async function is(at: string, kind: 'file' | 'directory'): Promise<boolean> {
  return stat(at).then(
    (found) => (kind === 'file' ? found.isFile() : found.isDirectory()),
    () => false,
  );
}

function blocked(what: string, why: string): Error {
  return problem('validation_failed', `invalid city directory: ${what} ${why}`, { at: 'body.dir' });
}
