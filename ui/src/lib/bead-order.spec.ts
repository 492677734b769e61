import { describe, expect, it } from '@jest/globals';
import { ORDERS, sortOf, type BeadSort } from './bead-order.js';

const BEADS = [
  { id: 'a', created_at: '2026-01-01T00:00:01Z', priority: 3 },
  { id: 'b', created_at: '2026-01-01T00:00:02Z', updated_at: '2026-01-01T00:00:09Z', priority: 0 },
  { id: 'c', created_at: '2026-01-01T00:00:03Z' },
  { id: 'd', created_at: '2026-01-01T00:00:03Z', updated_at: '2026-01-01T00:00:03Z', priority: 2 },
];
const ordered = (sort: BeadSort): string =>
  [...BEADS]
    .sort(ORDERS[sort])
    .map(({ id }) => id)
    .join('');

describe('the orders of beads', () => {
  it('are those of the service', () => {
    expect(ordered('created_at')).toBe('dcba');
    expect(ordered('updated_at')).toBe('bdca');
    expect(ordered('priority')).toBe('bcda');
  });

  it('are three, whatever an address asks for', () => {
    expect([undefined, 'updated_at', 'priority', 'title'].map(sortOf)).toEqual(['created_at', 'updated_at', 'priority', 'created_at']);
  });
});
