import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Pages that lie elsewhere in the repository, and what they are called in the guide. */
export const OTHERS = new Map([
  ['SECURITY.md', 'security'],
  ['examples/README.md', 'examples'],
]);

/** Every file that the guide and the schemas are made of, from the root of the project. */
export async function guideSources(root) {
  const below = async (folder) =>
    (await readdir(join(root, folder), { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name).slice(root.length).replace(/^\/+/, ''));
  return [...(await below('docs')), ...(await below('schemas')), ...(await below('scripts/guide')), ...OTHERS.keys()].sort();
}
