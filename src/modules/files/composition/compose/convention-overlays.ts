import { createHash } from 'node:crypto';
import { foundFile, type Found } from './found.js';
import type { Home } from './home.js';
import { below } from './run.js';

/** Two names for one thing: packs call it the one, new cities have the other. */
const FOLDERS = ['overlay', 'overlays'];

/** The folders whose files lie in the places of all agents. Each is told by its folder, with one digest of all that is in it. */
export function findOverlays(home: Home, digests: ReadonlyMap<string, string>): Found[] {
  return FOLDERS.flatMap((folder) => {
    const path = below(home.path, folder);
    const sha256 = digestOf([...digests].filter(([file]) => file.startsWith(`${path}/`)));
    return sha256 === undefined ? [] : [foundFile(home, `${home.tree.label}:${path}`, path, sha256)];
  });
}

/** One digest of many files; undefined of none. */
export function digestOf(files: readonly (readonly [path: string, sha256: string])[]): string | undefined {
  return files.length === 0 ? undefined : createHash('sha256').update(JSON.stringify(files)).digest('hex');
}
