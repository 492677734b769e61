import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { OTHERS, plotted, ticks, type Point } from './buckets.js';

const STRETCH = { since: '2026-11-20T00:00:00Z', until: '2026-11-20T06:00:00Z', bucket_s: 3_600 };
const hour = (n: number): string => new Date(Date.parse(STRETCH.since) + n * 3_600_000).toISOString();
type Counted = Point & { readonly count: number };

describe('buckets of time', () => {
  it('are all there, also those in which nothing was', () => {
    const { buckets, names, most } = plotted<Counted>(
      [
        { at: hour(1), count: 3 },
        { at: hour(4), count: 5 },
      ],
      STRETCH,
      ({ count }) => count,
    );
    expect(buckets.map(({ sum }) => sum)).toEqual([0, 3, 0, 0, 5, 0]);
    expect({ names, most }).toEqual({ names: [''], most: 5 });
  });

  it('begin where the service says, on days in which clocks change too', () => {
    const days = { since: '2026-10-24T22:00:00Z', until: '2026-10-27T23:00:00Z', bucket_s: 86_400 };
    const points = ['2026-10-24T22:00:00Z', '2026-10-25T23:00:00Z', '2026-10-26T23:00:00Z'].map((at) => ({ at, count: 1 }));
    expect(
      plotted<Counted>(points, days, ({ count }) => count).buckets.map(({ at, sum }) => [new Date(at).toISOString().slice(0, 13), sum]),
    ).toEqual([
      ['2026-10-24T22', 1],
      ['2026-10-25T23', 1],
      ['2026-10-26T23', 1],
    ]);
  });

  it('lose nothing of what was counted, however many names there are', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(5), fc.nat(12), fc.nat(9), fc.boolean()), { maxLength: 60 }), (counted) => {
        const points = counted.map(([at, of, count, others]): Counted =>
          others ? { at: hour(at), others, count } : { at: hour(at), of: `a${of}`, count },
        );
        const { buckets, names } = plotted(points, STRETCH, ({ count }) => count);
        expect(buckets.reduce((sum, bucket) => sum + bucket.sum, 0)).toBe(points.reduce((sum, { count }) => sum + count, 0));
        expect(buckets).toHaveLength(6);
        expect(names.length).toBeLessThanOrEqual(6);
        expect(names.slice(0, -1)).not.toContain(OTHERS);
      }),
    );
  });

  it('have lines at round numbers, the last above all', () => {
    expect([0, 1, 7, 99, 1_234].map(ticks)).toEqual([
      [0],
      [0, 0.25, 0.5, 0.75, 1],
      [0, 2, 4, 6, 8],
      [0, 25, 50, 75, 100],
      [0, 500, 1_000, 1_500],
    ]);
    fc.assert(
      fc.property(fc.double({ min: 1e-9, max: 1e12, noNaN: true }), (most) => {
        const found = ticks(most);
        expect(found.at(-1)).toBeGreaterThanOrEqual(most);
        expect(found.length).toBeLessThanOrEqual(6);
      }),
    );
  });
});
