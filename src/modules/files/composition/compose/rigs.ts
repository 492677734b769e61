import { posix } from 'node:path';
import type { Table } from '../tree.js';
import { LIMITS } from './limits.js';
import { importsOf, includesOf, type Import, type PackGraph } from './pack-graph.js';
import type { Located, Run } from './run.js';

/** No path is longer. */
const LONGEST = 4_096;

/** A rig while it is composed. */
export interface Rig {
  readonly name: string;
  /** Changed by bindings and patches. */
  table: Table;
  imports: readonly Import[];
}

/** The rigs of a city: one a name. */
export function rigsOf(run: Run, city: Table): Rig[] {
  const rigs = new Map<string, Rig>();
  for (const table of city.tables('rigs')) {
    const name = table.text('name')!;
    run.spend('steps', 1);
    if (rigs.size === LIMITS.rigs) run.error(table, `there are more than ${LIMITS.rigs} rigs`);
    else if (rigs.has(name)) run.error(table.get('name')!, `there is a rig "${name}" already`);
    else rigs.set(name, { name, table, imports: [] });
  }
  return [...rigs.values()];
}

/** Gives rigs the paths that the machine has for them. */
export function bindRigs(run: Run, rigs: readonly Rig[], site: Table | undefined, schema: number): void {
  const byName = new Map(rigs.map((rig) => [rig.name, rig]));
  const bound = new Set<string>();
  for (const binding of site?.tables('rig') ?? []) {
    const name = binding.text('name')!;
    const rig = byName.get(name);
    if (rig === undefined) run.warn(binding.get('name')!, `there is no rig "${name}"`);
    else if (bound.has(name)) run.warn(binding.get('name')!, `the rig "${name}" is bound already`);
    else {
      bound.add(name);
      requireSitePath(run, rig, schema);
      rig.table = rig.table.with(['path', binding.get('path')]);
    }
  }
  for (const rig of rigs) {
    if (bound.has(rig.name)) continue;
    if (rig.table.get('path') === undefined)
      run.warn(rig.table.get('name')!, `the rig "${rig.name}" has no path; bind it in .gc/site.toml`);
    else requireSitePath(run, rig, schema);
  }
}

/** Agents of two rigs in one directory change each other's files, and each rig has beads of its own for them. */
export function warnOfSharedPaths(run: Run, rigs: readonly Rig[]): void {
  const owners = new Map<string, string>();
  for (const { name, table } of rigs) {
    const path = table.text('path');
    if (path === undefined || path.length > LONGEST) continue;
    const at = posix.join(path, '.');
    const owner = owners.get(at);
    if (owner === undefined) owners.set(at, name);
    else run.warn(table.get('path')!, `is the directory of the rig "${owner}" as well`);
  }
}

/** Where a rig lies is a fact of the machine: with a root pack of schema 2 its path must be there. */
function requireSitePath(run: Run, { table }: Rig, schema: number): void {
  const path = table.get('path');
  if (path === undefined) return;
  if (schema >= 2) run.error(path, 'belongs in .gc/site.toml, as path of a [[rig]] of this name');
  else run.warn(path, 'belongs in .gc/site.toml, as path of a [[rig]] of this name');
}

/**
 * Follows the imports of every rig. What lies in a checkout is written by whoever may push to it, so a pack there counts only
 * when the rig imports it.
 */
export async function followRigs(run: Run, graph: PackGraph, rigs: readonly Rig[], home: Located, named: Table | undefined): Promise<void> {
  for (const rig of rigs) {
    const asked = [...includesOf(rig.table, 'includes', named), ...importsOf(rig.table.table('imports'))];
    const path = rig.table.text('path');
    if (asked.length > 0) rig.imports = await graph.follow(asked, home);
    else if (path !== undefined && (await graph.isPack(path, home).catch(() => false)))
      run.warn(
        rig.table.get('path')!,
        `the pack in this directory is not used; to trust it, import it: [rigs.imports.${rig.name}] source = "${path}"`,
      );
  }
}
