import { List, Table, type Node } from '../tree.js';
import { agentTable, type Agents } from './agents.js';
import { importTables } from './import-tables.js';
import { fallback, listFrom, NO_ITEMS, NO_KEYS, tableFrom } from './nodes.js';
import type { Import } from './pack-graph.js';
import type { Rig } from './rigs.js';
import { sessionTable, type Sessions } from './sessions.js';

export interface ResultInput {
  /** The merged document with catalogue, services and everything else that keeps its name. */
  readonly city: Table;
  readonly workspace: Table;
  readonly resolved: Table;
  readonly agents: Agents;
  readonly sessions: Sessions;
  readonly rigs: readonly Rig[];
  readonly imports: readonly Import[];
  /** The table of imports that new rigs get, and what was found for it. */
  readonly offered: Table | undefined;
  readonly forNewRigs: readonly Import[];
  readonly patches: Table;
  readonly contents: Table;
  readonly lists: Readonly<Record<string, List>>;
}

const PATCHED = ['agent', 'named_session', 'rigs', 'providers', 'github_pr_monitor'];
/** Tables of the files that the result has in another form. */
const CONSUMED: ReadonlySet<string> = new Set([
  ...['workspace', 'agent_defaults', 'providers', 'upstreams', 'agent', 'named_session', 'rigs', 'imports', 'defaults', 'patches'],
  ...['packs', 'formulas', 'include'],
]);

/** The composed result in the shape of `CityConfig`. */
export function resultOf(input: ResultInput): Table {
  const { city } = input;
  const entries: [string, Node | undefined][] = [
    ['workspace', input.workspace],
    ['agent_defaults', city.get('agent_defaults')],
    ['providers', city.get('providers')],
    ['resolved_providers', input.resolved],
    ['upstreams', city.get('upstreams') ?? NO_KEYS],
    ['agents', listFrom([...input.agents.all].map(agentTable))],
    ['named_sessions', listFrom([...input.sessions.all].map(sessionTable))],
    ['rigs', listFrom(input.rigs.map(rigTable))],
    ['imports', importTables(city.table('imports'), input.imports)],
    ['default_rig_imports', importTables(input.offered, input.forNewRigs)],
    ['patches', tableFrom(PATCHED.map((kind) => [kind, input.patches.get(kind) ?? NO_ITEMS] as const))],
    ...Object.entries(input.lists),
    ['contents', input.contents],
  ];
  for (const [key, node] of city.entries) if (!CONSUMED.has(key)) entries.push([key, node]);
  return tableFrom(entries);
}

function rigTable({ table, imports }: Rig): Table {
  return table.with(
    ['suspended_on_start', table.get('suspended_on_start') ?? fallback(false)],
    ['imports', importTables(table.table('imports'), imports)],
  );
}
