import { Graph, layout } from '@dagrejs/dagre';
import type { Places, Wish } from './layout.js';

/** The other rankers take minutes for what this one does in seconds. */
const RANKER = 'tight-tree';

addEventListener('message', ({ data }: MessageEvent<Wish>) => {
  const graph = new Graph();
  graph.setGraph({ rankdir: 'LR', ranker: RANKER, nodesep: 14, ranksep: 48 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id, width, height } of data.nodes) graph.setNode(id, { width, height });
  for (const [from, to] of data.lines) graph.setEdge(from, to);
  layout(graph);
  const places: Record<string, readonly [number, number]> = {};
  for (const { id, width, height } of data.nodes) {
    const { x, y } = graph.node(id) as { x: number; y: number };
    places[id] = [Math.round(x - width / 2), Math.round(y - height / 2)];
  }
  (globalThis as unknown as { postMessage: (message: Places) => void }).postMessage({ turn: data.turn, places });
});
