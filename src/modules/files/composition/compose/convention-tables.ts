import { FORMULA_FORMAT } from '../formats/files.format.js';
import { ORDER_FORMAT } from '../formats/order.format.js';
import { Leaf, type Table } from '../tree.js';
import { fileName } from '../trees/file-tree.js';
import { filesBelow, foundFile, type Found } from './found.js';
import type { Home } from './home.js';
import { below, type Run } from './run.js';

/**
 * The formulas of a folder. Each says its name, and its file is called after it. What is wrong with one is a warning: it cannot
 * be used, and the city can.
 */
export async function findFormulas(run: Run, home: Home, folder: string, digests: ReadonlyMap<string, string>): Promise<Found[]> {
  const files = flatFiles(home, folder, digests, '.formula.toml').filter(({ deep }) => !deep);
  const types = new Map<string, string>();
  await run.each(files, async (each, { name, path }) => {
    const table = await each.table({ tree: home.tree, path }, FORMULA_FORMAT, 'warning');
    const written = table?.get('formula');
    if (written instanceof Leaf && written.value !== name) each.warn(written, `must be "${name}", the name of the file`);
    const type = table?.text('type');
    if (type === 'expansion' || type === 'aspect') types.set(fileName(home.tree, path), type);
  });
  return winners(home, files, digests).map((found) => (types.has(found.file) ? { ...found, type: types.get(found.file)! } : found));
}

/** The orders of a city or pack. */
export async function findOrders(run: Run, home: Home, digests: ReadonlyMap<string, string>): Promise<Found[]> {
  const files = flatFiles(home, 'orders', digests, '.order.toml');
  const deep = new Set(files.flatMap((file) => (file.deep ? [file.name.slice(0, file.name.indexOf('/'))] : [])));
  for (const name of deep) {
    const at = fileName(home.tree, below(home.path, `orders/${name}`));
    run.error({ origin: { file: at }, at: '' }, 'orders lie directly in orders/, without folders');
  }
  const flat = files.filter((file) => !file.deep);
  const tables = new Map<string, Table>();
  await run.each(flat, async (each, { path }) => {
    const order = (await each.table({ tree: home.tree, path }, ORDER_FORMAT))?.table('order');
    if (order !== undefined) tables.set(fileName(home.tree, path), order);
  });
  return winners(home, flat, digests).map((found) => (tables.has(found.file) ? { ...found, order: tables.get(found.file)! } : found));
}

interface FlatFile {
  /** The path in the folder without its suffix. */
  readonly name: string;
  readonly path: string;
  readonly short: boolean;
  readonly deep: boolean;
}

/** Files `<name>.toml` and `<name><long>` of a folder. */
function flatFiles(home: Home, folder: string, digests: ReadonlyMap<string, string>, long: string): FlatFile[] {
  return filesBelow(home, folder, digests).flatMap(({ name, path }) => {
    const suffix = name.endsWith(long) ? long : '.toml';
    if (!name.endsWith(suffix) && !name.includes('/')) return [];
    return [{ name: name.slice(0, -suffix.length), path, short: suffix === '.toml', deep: name.includes('/') }];
  });
}

/** One file a name: the one with the short suffix. */
function winners(home: Home, files: readonly FlatFile[], digests: ReadonlyMap<string, string>): Found[] {
  const byName = new Map<string, FlatFile>();
  for (const file of files) if (file.short || !byName.has(file.name)) byName.set(file.name, file);
  return [...byName.values()].map(({ name, path }) => foundFile(home, name, path, digests.get(path)!));
}
