import { describe, expect, it } from '@jest/globals';
import { treeOf } from './tree.js';
import type { Bead } from './view.js';

const bead = (id: string, more: Partial<Bead> = {}): Bead => ({
  id,
  title: id.toUpperCase(),
  status: 'open',
  issue_type: 'task',
  created_at: '2026-01-01T00:00:00Z',
  ...more,
});
const graph = (ids: readonly (string | Bead)[], deps: readonly [from: string, to: string, kind: string][]) => {
  const beads = ids.map((id) => (typeof id === 'string' ? bead(id) : id));
  return {
    root: beads[0]!,
    beads,
    deps: deps.map(([from, to, kind]) => ({ from, to, kind })),
    membership: 'direct-root-id+parent-closure' as const,
  };
};

describe('treeOf', () => {
  it('puts children under parents and tells what a bead still waits for', () => {
    const parts = ['r', bead('a', { status: 'closed' }), bead('b', { assignee: 'worker', status: 'in_progress' }), 'c', 'd'];
    const text = treeOf(
      graph(parts, [
        ['r', 'a', 'parent-child'],
        ['r', 'b', 'parent-child'],
        ['b', 'c', 'parent-child'],
        ['a', 'c', 'blocks'],
        ['b', 'd', 'waits-for'],
        ['c', 'd', 'related'],
      ]),
    );
    expect(text).toBe('r [open] R\n├─ a [closed] A\n├─ b [in_progress @worker] B\n│  └─ c [open] C\n└─ d [open] D (after b)\n');
  });

  it('puts members under their convoy', () => {
    expect(treeOf(graph(['k', 'a'], [['a', 'k', 'tracks']]))).toBe('k [open] K\n└─ a [open] A\n');
  });

  it('writes a bead once, also in a circle of parents', () => {
    const text = treeOf(
      graph(
        ['r', 'a', 'b'],
        [
          ['r', 'a', 'parent-child'],
          ['a', 'b', 'parent-child'],
          ['b', 'a', 'parent-child'],
          ['r', 'b', 'parent-child'],
        ],
      ),
    );
    expect(text).toBe('r [open] R\n└─ a [open] A\n   └─ b [open] B\n');
  });

  it('writes what hangs on a circle apart from the root too', () => {
    const text = treeOf(
      graph(
        ['r', 'a', 'b'],
        [
          ['a', 'b', 'parent-child'],
          ['b', 'a', 'parent-child'],
        ],
      ),
    );
    expect(text.split('\n').filter(Boolean)).toHaveLength(3);
  });

  it('survives ten thousand levels', () => {
    const ids = Array.from({ length: 10_000 }, (_, n) => `n${n}`);
    const text = treeOf(
      graph(
        ids,
        ids.slice(1).map((id, n) => [ids[n]!, id, 'parent-child']),
      ),
      80,
    );
    expect(text.split('\n')).toHaveLength(10_001);
  });

  it('cuts lines to the terminal and lets no control character through', () => {
    expect(treeOf(graph([bead('r', { title: 'a\u001b[31m very long title' })], []), 20)).toBe('r [open] a very lon…\n');
  });
});
