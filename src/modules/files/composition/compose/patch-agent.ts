import { List, Table, type Node } from '../tree.js';
import { concat } from './nodes.js';

/** Keys of a patch that say which agent is meant. */
const IDENTITY: ReadonlySet<string> = new Set(['name', 'dir', 'agent']);
/** Lists that an empty one clears; an empty one of any other list changes nothing. */
const CLEARED: ReadonlySet<string> = new Set(['args', 'inject_fragments']);
/** Tables of which single entries are changed. */
const MAPS: ReadonlySet<string> = new Set(['env', 'option_defaults']);
const APPEND = '_append';

/** How many members of tables and lists are copied when an agent is patched. */
export function costOf(agent: Table, patch: Table): number {
  let cost = agent.entries.size + patch.entries.size;
  for (const key of patch.entries.keys()) {
    const node = agent.get(key.endsWith(APPEND) ? key.slice(0, -APPEND.length) : key === 'env_remove' ? 'env' : key);
    cost += sizeOf(patch.get(key)) + sizeOf(node);
  }
  return cost;
}

function sizeOf(node: Node | undefined): number {
  return node instanceof Table ? node.entries.size : node instanceof List ? node.items.length : 1;
}

/** An agent with a patch: what is written takes the place of what is there, `*_append` adds to lists, maps get more entries. */
export function patchAgent(agent: Table, patch: Table): Table {
  const changes = new Map<string, Node | undefined>();
  const now = (key: string): Node | undefined => (changes.has(key) ? changes.get(key) : agent.get(key));
  // What replaces comes before what appends, whatever the order in the file.
  for (const [key, node] of patch.entries) {
    if (IDENTITY.has(key) || key.endsWith(APPEND) || key === 'env_remove') continue;
    if (node instanceof List && node.items.length === 0 && !CLEARED.has(key)) continue;
    const before = agent.get(key);
    const merges = MAPS.has(key) && before instanceof Table && node instanceof Table;
    changes.set(key, merges ? before.with(...node.entries) : node);
  }
  for (const [key, node] of patch.entries) {
    if (!key.endsWith(APPEND)) continue;
    const target = key.slice(0, -APPEND.length);
    changes.set(target, concat(now(target), node));
  }
  const env = now('env');
  const removed = patch.texts('env_remove') ?? [];
  if (env instanceof Table && removed.length > 0) changes.set('env', env.without(...removed));
  return agent.with(...changes);
}
