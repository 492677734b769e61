import { describe, expect, it } from '@jest/globals';
import type { Bead } from '../api/types.js';
import { changedBy } from './conflict.js';

const bead = (more: Partial<Bead> = {}): Bead => ({
  id: 'al-1',
  title: 'One',
  status: 'open',
  issue_type: 'task',
  created_at: '2026-01-01T00:00:00Z',
  description: 'first',
  labels: ['a', 'b'],
  priority: 2,
  ...more,
});

describe('a bead that two have changed', () => {
  it('tells what is theirs, and what would take its place', () => {
    const theirs = bead({ title: 'Theirs', description: 'their words', status: 'closed', labels: ['b', 'a'], assignee: 'ann' });
    expect(changedBy(bead(), theirs, { title: 'Mine', description: 'first', priority: 1 })).toEqual([
      { name: 'Title', theirs: 'Theirs', mine: 'Mine' },
      { name: 'Description', theirs: 'their words', mine: undefined },
      { name: 'State', theirs: 'closed', mine: undefined },
      { name: 'Assignee', theirs: 'ann', mine: undefined },
    ]);
  });

  it('takes nothing away where both want the same, and tells what was taken away', () => {
    expect(changedBy(bead(), bead({ title: 'Same' }), { title: 'Same' })).toEqual([{ name: 'Title', theirs: 'Same', mine: undefined }]);
    const { description: _, ...without } = bead();
    expect(changedBy(bead(), without, { description: 'mine' })).toEqual([{ name: 'Description', theirs: '', mine: 'mine' }]);
    expect(changedBy(bead(), bead({ revision: 7 }), { title: 'Mine' })).toEqual([]);
  });
});
