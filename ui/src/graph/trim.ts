import { counted } from '../lib/counted.js';
/** A graph as it can be drawn: what has ended is put together first, and never more than a page can move. */
export interface GraphNode {
  readonly id: string;
  readonly title: string;
  /** As it is told: `open`, `in progress`, `failed` … */
  readonly state: string;
  readonly tone: 'good' | 'warn' | 'bad' | 'quiet' | 'accent';
  readonly ended: boolean;
  /** In the place of so many others. */
  readonly holds?: number;
}
export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  readonly kind: string;
}
export interface Drawn {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  /** How many nodes are not drawn by themselves. */
  readonly left: number;
}

/** The maintainers of the drawing library name about a thousand; half of that moves well. */
export const MOST = 500;

export function trim(nodes: readonly GraphNode[], edges: readonly GraphEdge[], keep: string, most = MOST): Drawn {
  const ids = new Set(nodes.map(({ id }) => id));
  const known = edges.filter(({ from, to }) => from !== to && ids.has(from) && ids.has(to));
  if (nodes.length <= most) return { nodes, edges: once(known), left: 0 };
  // Near ones first, and among those at one distance what goes on.
  const near = distances(known, keep);
  const ranked = [...nodes].sort(
    (a, b) =>
      Number(b.id === keep) - Number(a.id === keep) ||
      Number(a.ended) - Number(b.ended) ||
      (near.get(a.id) ?? Number.POSITIVE_INFINITY) - (near.get(b.id) ?? Number.POSITIVE_INFINITY) ||
      0,
  );
  const drawn = new Set(ranked.slice(0, most - 1).map(({ id }) => id));
  const rest = nodes.filter(({ id }) => !drawn.has(id));
  const group: GraphNode = {
    id: '…',
    title: counted(rest.length, 'other'),
    state: rest.every(({ ended }) => ended) ? 'ended' : 'not drawn',
    tone: 'quiet',
    ended: true,
    holds: rest.length,
  };
  // What leads through the group may lead back: only what comes from it is drawn, so that it makes no circle.
  const shown = known.flatMap((edge) => (drawn.has(edge.to) ? [{ ...edge, from: drawn.has(edge.from) ? edge.from : group.id }] : []));
  return { nodes: [...nodes.filter(({ id }) => drawn.has(id)), group], edges: once(shown), left: rest.length };
}

function once(edges: readonly GraphEdge[]): GraphEdge[] {
  const seen = new Map<string, GraphEdge>();
  for (const edge of edges) {
    const key = JSON.stringify([edge.from, edge.to]);
    if (!seen.has(key)) seen.set(key, edge);
  }
  return [...seen.values()];
}

function distances(edges: readonly GraphEdge[], start: string): Map<string, number> {
  const beside = new Map<string, string[]>();
  for (const { from, to } of edges)
    for (const [a, b] of [
      [from, to],
      [to, from],
    ] as const)
      beside.set(a, [...(beside.get(a) ?? []), b]);
  const found = new Map([[start, 0]]);
  for (const id of found.keys()) for (const next of beside.get(id) ?? []) if (!found.has(next)) found.set(next, found.get(id)! + 1);
  return found;
}
