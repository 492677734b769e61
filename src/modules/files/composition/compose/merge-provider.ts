import { Table, type Node } from '../tree.js';

/** Fields of a provider of which single entries are changed. */
export const MAPS: ReadonlySet<string> = new Set(['env', 'upstream_env', 'option_defaults', 'permission_modes']);

/** Called for a value that another one takes the place of. */
export type Redefined = (now: Node, before: Node) => void;

/** A provider with the fields of another table: maps get more entries, everything else is replaced. */
export function mergeProvider(base: Table, over: Table, redefined?: Redefined): Table {
  const changes = [...over.entries].map(([key, node]): [string, Node] => {
    const before = base.get(key);
    if (MAPS.has(key) && before instanceof Table && node instanceof Table) return [key, mergeMap(before, node, redefined)];
    if (before !== undefined) redefined?.(node, before);
    return [key, node];
  });
  return base.with(...changes);
}

function mergeMap(base: Table, over: Table, redefined?: Redefined): Table {
  for (const [name, node] of over.entries) {
    const before = base.get(name);
    if (before !== undefined) redefined?.(node, before);
  }
  return base.with(...over.entries);
}
