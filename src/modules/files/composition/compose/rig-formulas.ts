import { FRAGMENT } from '../template-blocks.js';
import { Leaf } from '../tree.js';
import { findFormulas } from './convention-tables.js';
import type { Found } from './found.js';
import type { Rig } from './rigs.js';
import { folderOf, resolvePath, type Run } from './run.js';

/** The formulas of the folders that rigs name, by rig, and the digests of the files in them: formulas name texts and scripts beside them. */
export async function readRigFormulas(
  run: Run,
  rigs: readonly Rig[],
): Promise<{ formulas: Map<string, readonly Found[]>; digests: Map<string, string> }> {
  const formulas = new Map<string, readonly Found[]>();
  const digests = new Map<string, string>();
  const read = new Map<string, readonly Found[]>();
  const { tree } = run.input;
  for (const { name, table } of rigs) {
    const written = table.get('formulas_dir');
    if (!(written instanceof Leaf)) continue;
    const located = resolvePath(run, { tree, path: folderOf(written.origin.file) }, String(written.value));
    if (located === undefined || located.path === '.') {
      run.error(written, 'is not a directory inside the city');
      continue;
    }
    let found = read.get(located.path);
    if (found === undefined) {
      const files = new Map(await run.digests(located));
      for (const [path, sha256] of files) if (isBeside(path, located.path)) digests.set(path, sha256);
      found = await findFormulas(run, { tree, path: '', pack: '' }, located.path, files);
      read.set(located.path, found);
    }
    formulas.set(name, found);
  }
  return { formulas, digests };
}

/**
 * Whoever writes to a rig gives texts to its formulas, and nothing to the whole city: fragments of prompts are found by their path, and
 * what stands before a colon is looked for as a pack.
 */
function isBeside(path: string, folder: string): boolean {
  return path.endsWith('.toml') || !(FRAGMENT.test(path) || path.slice(folder.length).includes(':'));
}
