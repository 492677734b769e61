import { describe, expect, it } from '@jest/globals';
import { trim, type GraphEdge, type GraphNode } from './trim.js';

const node = (id: string, ended = false): GraphNode => ({ id, title: id, state: ended ? 'closed' : 'open', tone: 'good', ended });
const edge = (from: string, to: string): GraphEdge => ({ from, to, kind: 'blocks' });

describe('trim', () => {
  it('draws a small graph as it is, without loops, doubles and edges to nowhere', () => {
    const drawn = trim(
      [node('a'), node('b')],
      [edge('a', 'b'), { ...edge('a', 'b'), kind: 'parent-child' }, edge('a', 'a'), edge('a', 'gone')],
      'a',
    );
    expect(drawn).toEqual({ nodes: [node('a'), node('b')], edges: [edge('a', 'b')], left: 0 });
  });

  it('puts together what has ended and is far, and makes no circle of it', () => {
    const chain = Array.from({ length: 20 }, (_, i) => node(`n${i}`, i > 5));
    const edges = chain.slice(1).map(({ id }, i) => edge(id, `n${i}`));
    const { nodes, edges: lines, left } = trim(chain, edges, 'n0', 10);
    expect(nodes.map(({ id }) => id)).toEqual(['n0', 'n1', 'n2', 'n3', 'n4', 'n5', 'n6', 'n7', 'n8', '…']);
    expect({ left, holds: nodes.at(-1)!.holds, state: nodes.at(-1)!.state }).toEqual({ left: 11, holds: 11, state: 'ended' });
    expect(lines.filter(({ from, to }) => from === '…' || to === '…')).toEqual([edge('…', 'n8')]);
    const drawn = new Set(nodes.map(({ id }) => id));
    expect(lines.every(({ from, to }) => drawn.has(from) && drawn.has(to))).toBe(true);
  });

  it('keeps the one that is looked at, even when it has ended and nothing leads to it', () => {
    const some = Array.from({ length: 10 }, (_, i) => node(`n${i}`));
    const { nodes } = trim([...some, node('mine', true)], [], 'mine', 4);
    expect(nodes.map(({ id }) => id)).toContain('mine');
    expect(nodes).toHaveLength(4);
  });
});
