import { fileName } from '../trees/file-tree.js';
import { findMcpServers } from './convention-mcp.js';
import { findOverlays } from './convention-overlays.js';
import { findCommands, findDoctorChecks } from './convention-scripts.js';
import { findFormulas, findOrders } from './convention-tables.js';
import type { Found } from './found.js';
import type { Home } from './home.js';
import { below, type Run } from './run.js';

/** Folders whose files belong to a city or a pack by where they lie. */
const CONVENTION_FOLDERS = [
  'agents',
  'formulas',
  'orders',
  'commands',
  'doctor',
  'template-fragments',
  'overlay',
  'overlays',
  'skills',
  'mcp',
  'assets',
  'prompts',
] as const;

/** Folders whose files are tables. */
const TABLES = /^(?:(?:formulas|orders|mcp)\/[^/._][^/]*|agents\/[^/._][^/]*\/(?:agent\.[^/]*|mcp\/[^/._][^/]*))$/;
/** What somebody means by `.toml`. */
const NEARLY = /\.(?:tml|tom|toml\.txt|tolm|otml|tmol|TOML|Toml)$/;

export interface Conventions {
  readonly formulas: readonly Found[];
  readonly orders: readonly Found[];
  readonly commands: readonly Found[];
  readonly doctor: readonly Found[];
  readonly mcp: readonly Found[];
  /** Folders; their digest is that of all that is in them. */
  readonly overlays: readonly Found[];
  /** Every file of the convention folders with its digest, by its path in the tree. */
  readonly digests: ReadonlyMap<string, string>;
}

/** What lies in the convention folders of a city or a pack; what is wrong with it is told. */
export async function readConventions(run: Run, home: Home): Promise<Conventions> {
  const digests = new Map<string, string>();
  const present = new Set((await run.list(home)).map(({ name }) => name));
  const folders = CONVENTION_FOLDERS.filter((folder) => present.has(folder)).map((folder) => ({
    tree: home.tree,
    path: below(home.path, folder),
  }));
  for (const found of await run.each(folders, (each, folder) => each.digests(folder)))
    for (const [path, sha256] of found) digests.set(path, sha256);
  warnOfMisnamed(run, home, digests);
  return {
    formulas: await findFormulas(run, home, 'formulas', digests),
    orders: await findOrders(run, home, digests),
    commands: await findCommands(run, home, digests),
    doctor: await findDoctorChecks(run, home, digests),
    mcp: await findMcpServers(run, home, digests),
    overlays: findOverlays(home, digests),
    digests,
  };
}

/** Tells of files that nobody reads for how they end. */
function warnOfMisnamed(run: Run, home: Home, digests: ReadonlyMap<string, string>): void {
  const prefix = home.path === '' ? '' : below(home.path, '');
  for (const path of digests.keys())
    if (path.startsWith(prefix) && NEARLY.test(path) && TABLES.test(path.slice(prefix.length)))
      run.warn({ origin: { file: fileName(home.tree, path) }, at: '' }, 'is not read; did you mean .toml?');
}
