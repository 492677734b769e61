import { mkdir, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { errnoOf, isBelow } from '../city-directory.js';
import { CONVENTION_DIRS, RUNTIME_DIRS } from '../scaffold/files.js';
import type { PackFile } from './city-config.js';
import { InitFailure } from './failure.js';

const CODE = 'pack_cache_failed';

/** Makes sure that the directories a running city needs are there and that the packs it imports from disk exist. */
export async function materialize(dir: string, pack: PackFile): Promise<void> {
  for (const relative of [...RUNTIME_DIRS, ...CONVENTION_DIRS]) {
    const at = path.join(dir, relative);
    try {
      await mkdir(at, { recursive: true, mode: 0o755 });
    } catch (error) {
      const errno = errnoOf(error) ?? 'unknown error';
      const structural = errno === 'EEXIST' || errno === 'ENOTDIR';
      throw new InitFailure(CODE, `${relative} cannot be made (${errno})`, structural ? 'structural' : 'transient', { cause: error });
    }
    if (!isBelow(dir, await realpath(at))) throw new InitFailure(CODE, `${relative} leads out of the city`);
  }
  for (const [binding, { source }] of Object.entries(pack.imports)) {
    if (!isLocal(source)) continue;
    const found = await stat(path.resolve(dir, source, 'pack.toml')).catch(() => undefined);
    if (found?.isFile() !== true) throw new InitFailure(CODE, `import "${binding}": no pack at ${source}`);
  }
}

/** A path on this machine, as opposed to a repository somewhere. */
function isLocal(source: string): boolean {
  return !/^[a-z][a-z0-9+.-]*:\/\//i.test(source) && !source.startsWith('git@') && !source.startsWith('github.com/');
}
