import { Leaf, Table, type Node } from '../tree.js';
import { prefixOf } from '../prefix.js';
import { PRESETS } from '../presets/presets.js';
import { PREFIX, RESERVED_PREFIXES } from './names.js';
import { derived, fallback, NO_KEYS, sameOrDerived } from './nodes.js';
import type { Rig } from './rigs.js';
import type { Run } from './run.js';

/** The workspace as the composed result has it: with the name and the prefix that hold on this machine. */
export function workspaceOf(run: Run, city: Table, site: Table | undefined, schema: number): Table {
  const written = city.table('workspace') ?? NO_KEYS;
  const [declaredName, declaredPrefix] = [written.get('name'), written.get('prefix')];
  if (schema >= 2) for (const node of [declaredName, declaredPrefix]) if (node !== undefined) belongsToSite(run, node);
  const name = site?.get('workspace_name') ?? declaredName ?? derived(run.input.cityName);
  const prefix = site?.get('workspace_prefix') ?? declaredPrefix ?? derived(prefixOf(String((name as Leaf).value)));
  return written.with(
    ['name', name],
    ['prefix', lowered(prefix)],
    ['declared_name', declaredName],
    ['declared_prefix', declaredPrefix],
    ['suspended_on_start', written.get('suspended_on_start') ?? fallback(false)],
  );
}

function belongsToSite(run: Run, node: Node): void {
  run.warn(node, 'belongs in .gc/site.toml, which says what the city is called on this machine');
}

function lowered(node: Node): Node {
  return node instanceof Leaf ? sameOrDerived(node, String(node.value).toLowerCase()) : node;
}

/** The agents of a city are started by a provider or by a command, not by both. */
export function checkStart(run: Run, workspace: Table, catalogue: Table): void {
  const [provider, command] = [workspace.get('provider'), workspace.get('start_command')];
  if (provider !== undefined && command !== undefined)
    run.error(command, 'workspace.provider and workspace.start_command exclude each other');
  const isTold = run.issues.some(({ severity, key }) => severity === 'error' && /^workspace\.(provider|start_command)$/.test(key));
  if (provider === undefined && command === undefined && !isTold) {
    const at = workspace.at === '' ? { origin: { file: 'city.toml' }, at: 'workspace' } : workspace;
    run.error(at, 'provider or start_command is missing', ['provider', 'start_command']);
  }
  if (provider !== undefined) requireProvider(run, provider, catalogue);
}

/** A provider that is used must be in the city's catalogue. */
export function requireProvider(run: Run, node: Node, catalogue: Table): void {
  if (!(node instanceof Leaf) || typeof node.value !== 'string' || catalogue.get(node.value) !== undefined) return;
  const base = PRESETS[node.value] === undefined ? '' : ` base = "builtin:${node.value}"`;
  run.error(node, `the city has no provider "${node.value}"; add [providers.${node.value}]${base}`, [...catalogue.entries.keys()]);
}

/** Gives rigs their prefixes in lower case. Prefixes make ids, so no two rigs have one, nor a rig that of the city. */
export function checkPrefixes(run: Run, workspace: Table, rigs: readonly Rig[]): void {
  const used = new Map<string, string>();
  const note = (node: Node | undefined, who: string): void => {
    if (!(node instanceof Leaf)) return;
    const prefix = String(node.value).toLowerCase();
    const other = used.get(prefix);
    if (!PREFIX.test(prefix)) run.error(node, `must match ${PREFIX.source}`);
    else if (other !== undefined) run.error(node, `${other} has this prefix already`);
    else used.set(prefix, who);
    if (RESERVED_PREFIXES.has(prefix)) run.warn(node, 'is reserved for other ids');
  };
  note(workspace.get('prefix'), 'the city');
  for (const rig of rigs) {
    const prefix = rig.table.get('prefix');
    note(prefix, `the rig "${rig.name}"`);
    if (prefix !== undefined) rig.table = rig.table.with(['prefix', lowered(prefix)]);
  }
}
