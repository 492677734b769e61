import type { Schemas } from '../api.js';
import { cut, plain } from '../table.js';
import { stateOf, type Bead } from './view.js';

type Graph = Schemas['BeadGraphResponse'];

const BLOCKING = new Set(['blocks', 'waits-for', 'conditional-blocks']);
/** Deeper lines are not indented further: nobody could read them, and a chain may be thousands of beads long. */
const MAX_INDENT = 120;

/**
 * A graph as a tree: children under their parents, members under their convoy, what hangs on neither under the root.
 * Every bead is written once, with what it still waits for.
 */
export function treeOf(graph: Graph, width?: number): string {
  const beads = new Map([graph.root, ...(graph.beads ?? [])].map((bead) => [bead.id, bead]));
  const below = new Map<string, string[]>();
  const waits = new Map<string, string[]>();
  const placed = new Set<string>([graph.root.id]);
  for (const { from, to, kind = 'blocks' } of graph.deps ?? []) {
    if (kind === 'parent-child' || kind === 'tracks') {
      const [above, under] = kind === 'tracks' ? [to, from] : [from, to];
      push(below, above, under);
      placed.add(under);
    } else if (BLOCKING.has(kind) && beads.get(from)?.status !== 'closed') push(waits, to, from);
  }
  for (const id of beads.keys()) if (!placed.has(id)) push(below, graph.root.id, id);
  const children = spanning(graph.root.id, [...beads.keys()], below);
  const lines: string[] = [];
  const stack: [id: string, indent: string, branch: string][] = [[graph.root.id, '', '']];
  for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
    const [id, indent, branch] = top;
    const bead = beads.get(id);
    if (bead === undefined) continue;
    lines.push(`${cut(plain(`${indent}${branch}${lineOf(bead, waits.get(id) ?? [])}`), width ?? Infinity)}\n`);
    const deeper = indent.length >= MAX_INDENT || branch === '' ? indent : `${indent}${branch === '├─ ' ? '│  ' : '   '}`;
    const under = children.get(id) ?? [];
    for (let n = under.length - 1; n >= 0; n--) stack.push([under[n]!, deeper, n === under.length - 1 ? '└─ ' : '├─ ']);
  }
  return lines.join('');
}

/** Each bead under the first one that leads to it; what the root does not lead to (a circle of parents) under the root. */
function spanning(root: string, ids: readonly string[], below: ReadonlyMap<string, readonly string[]>): Map<string, string[]> {
  const children = new Map<string, string[]>();
  const seen = new Set<string>([root]);
  for (const start of [root, ...ids]) {
    const stack = start === root ? [] : [[root, start] as const];
    if (start === root) for (const id of [...(below.get(root) ?? [])].reverse()) stack.push([root, id]);
    for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
      const [parent, id] = top;
      if (seen.has(id)) continue;
      seen.add(id);
      push(children, parent, id);
      for (const child of [...(below.get(id) ?? [])].reverse()) stack.push([id, child]);
    }
  }
  return children;
}

function push(map: Map<string, string[]>, key: string, value: string): void {
  const values = map.get(key);
  if (values === undefined) map.set(key, [value]);
  else values.push(value);
}

function lineOf(bead: Bead, after: readonly string[]): string {
  const owner = bead.assignee === undefined ? '' : ` @${bead.assignee}`;
  return `${bead.id} [${stateOf(bead)}${owner}] ${bead.title}${after.length === 0 ? '' : ` (after ${after.join(', ')})`}`;
}
