import { fileName } from '../trees/file-tree.js';
import type { Home } from './home.js';
import { below, type Run } from './run.js';

/** Folders whose files are tables. */
const TABLES = /^(?:(?:formulas|orders|mcp)\/[^/._][^/]*|agents\/[^/._][^/]*\/(?:agent\.[^/]*|mcp\/[^/._][^/]*))$/;
/** What somebody means by `.toml`. */
const NEARLY = /\.(?:tml|tom|toml\.txt|tolm|otml|tmol|TOML|Toml)$/;

/** Tells of files that nobody reads for how they end. */
export function warnOfMisnamed(run: Run, home: Home, digests: ReadonlyMap<string, string>): void {
  const prefix = home.path === '' ? '' : below(home.path, '');
  for (const path of digests.keys())
    if (path.startsWith(prefix) && NEARLY.test(path) && TABLES.test(path.slice(prefix.length)))
      run.warn({ origin: { file: fileName(home.tree, path) }, at: '' }, 'is not read; did you mean .toml?');
}
