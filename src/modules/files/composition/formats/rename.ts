import { List, Table, type Node } from '../tree.js';
import type { Finding } from './check.js';
import type { Format } from './format.js';
import { partsOf } from './pattern.js';

/** The tree with today's names of keys. What was written under an old name keeps its place. */
export function rename(tree: Table, format: Format, findings: Finding[]): Table {
  let result = tree;
  for (const { table, old, now } of format.renamed ?? [])
    result = change(result, partsOf(table), (found) => {
      const written = found.get(old);
      if (written === undefined) return found;
      const both = found.get(now) !== undefined;
      findings.push({
        severity: 'warning',
        key: written.at,
        message: both ? `is the old name of ${now}, which is set as well and wins` : `is the old name of ${now}`,
      });
      return both ? found.without(old) : found.without(old).with([now, written]);
    });
  for (const pattern of format.meaningless ?? []) {
    const parts = partsOf(pattern);
    const key = parts.pop()!;
    result = change(result, parts, (found) => (found.get(key) === undefined ? found : found.without(key)));
  }
  return result;
}

/** The tree with every table at a pattern changed; the same tree when nothing is. */
function change(tree: Table, parts: readonly string[], work: (table: Table) => Table): Table {
  return at(tree, parts, work) as Table;
}

function at(node: Node, parts: readonly string[], work: (table: Table) => Table): Node {
  const [part, ...rest] = parts;
  if (part === undefined) return node instanceof Table ? work(node) : node;
  if (part === '[]') {
    if (!(node instanceof List)) return node;
    const items = node.items.map((item) => at(item, rest, work));
    return items.every((item, n) => item === node.items[n]) ? node : new List(items, node.origin, node.at);
  }
  if (!(node instanceof Table)) return node;
  const changes = (part === '*' ? [...node.entries.keys()] : [part]).flatMap((key) => {
    const member = node.get(key);
    const changed = member === undefined ? undefined : at(member, rest, work);
    return changed === member ? [] : [[key, changed] as const];
  });
  return changes.length === 0 ? node : node.with(...changes);
}
