import { fileName, type FileTree } from '../trees/file-tree.js';
import { Leaf, type Table } from '../tree.js';
import { LIMITS } from './limits.js';
import { sorted } from './names.js';
import { tableFrom } from './nodes.js';
import type { Run } from './run.js';

/** Digests of files of a tree, by their path in it. */
export interface Digests {
  readonly tree: FileTree;
  readonly digests: ReadonlyMap<string, string>;
}

/** Every file that packs and conventions contribute with its digest, by the name that issues have for it. */
export function contentsOf(run: Run, parts: readonly Digests[]): Table {
  const all = new Map<string, string>();
  for (const { tree, digests } of parts) {
    for (const [path, sha256] of digests) all.set(fileName(tree, path), sha256);
    if (all.size > LIMITS.files) {
      run.error({ origin: { file: 'city.toml' }, at: '' }, `the city and its packs have more than ${LIMITS.files} files`);
      break;
    }
  }
  return tableFrom(sorted(all.keys()).map((file) => [file, new Leaf(all.get(file)!, { file }, '')] as const));
}
