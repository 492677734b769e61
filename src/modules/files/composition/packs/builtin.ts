import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where the packs lie that are shipped with the project: the same from the sources and from the build. */
export function builtinPacksDirectory(): string {
  const start = path.dirname(fileURLToPath(import.meta.url));
  for (let at = start; at !== path.dirname(at); at = path.dirname(at)) {
    if (existsSync(path.join(at, 'package.json'))) return path.join(at, 'packs');
  }
  throw new Error(`no package.json above ${start}`);
}
