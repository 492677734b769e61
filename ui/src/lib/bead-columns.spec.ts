import { describe, expect, it } from '@jest/globals';
import type { Bead } from '../api/types.js';
import { columnsOf, neighborOf } from './bead-columns.js';

const bead = (id: string, status: string, blocked = false): Bead => ({ id, status, is_blocked: blocked }) as Bead;
const beads = [bead('a', 'open'), bead('b', 'open', true), bead('c', 'in_progress'), bead('d', 'open'), bead('e', 'closed')];
const shown = (status: string | undefined): [string, string[]][] =>
  columnsOf(beads, status).map((column) => [column.id, column.beads.map(({ id }) => id)]);

describe('the board', () => {
  it('has a column for each state that its filter shows, what waits for others apart', () => {
    expect(shown(undefined)).toEqual([
      ['open', ['a', 'd']],
      ['blocked', ['b']],
      ['in_progress', ['c']],
    ]);
    expect(shown('open').map(([id]) => id)).toEqual(['open', 'blocked']);
    expect(shown('closed')).toEqual([['closed', ['e']]]);
    expect(shown('all').map(([id]) => id)).toEqual(['open', 'blocked', 'in_progress', 'closed']);
  });

  it('is walked in four directions, over columns that are empty', () => {
    const columns = columnsOf([bead('a', 'open'), bead('d', 'open'), bead('c', 'in_progress')], undefined);
    expect(neighborOf(columns, undefined, 0, 1)).toBe('a');
    expect(neighborOf(columns, 'a', 0, 1)).toBe('d');
    expect(neighborOf(columns, 'd', 0, 1)).toBe('d');
    expect(neighborOf(columns, 'd', 1, 0)).toBe('c');
    expect(neighborOf(columns, 'c', 1, 0)).toBe('c');
    expect(neighborOf(columns, 'c', -1, 0)).toBe('a');
    expect(neighborOf([], 'c', 1, 0)).toBeUndefined();
  });
});
