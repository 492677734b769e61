import { describe, expect, it } from '@jest/globals';
import { Moves } from './moves.js';

const settled = (moves: Moves, now: number, by: 'key' | 'pointer' = 'pointer'): string[] =>
  ['A', 'B', 'C'].filter((id) => moves.isSettled(id, now, by));
const at = (...tops: readonly number[]): Map<string, number> => new Map(tops.map((top, i) => ['ABC'[i]!, top]));

describe('what stands below one another', () => {
  it('has not settled where one has gone, for a while', () => {
    const moves = new Moves();
    moves.order(['A', 'B', 'C'], 1_000);
    expect(settled(moves, 1_000)).toEqual(['A', 'B', 'C']);
    moves.order(['B', 'C'], 1_200);
    moves.order(['B', 'C'], 1_300);
    for (const by of ['key', 'pointer'] as const)
      expect([settled(moves, 1_449, by), settled(moves, 1_450, by)]).toEqual([[], ['A', 'B', 'C']]);
  });

  it('has not settled below one that has grown, whatever else changes meanwhile, but for keys', () => {
    const moves = new Moves();
    moves.places(at(0, 10, 20), 1_000);
    expect(settled(moves, 1_000)).toEqual(['A', 'B', 'C']);
    moves.places(at(0, 10, 25), 1_100);
    moves.places(at(0, 10, 25), 1_200);
    expect([settled(moves, 1_349), settled(moves, 1_350)]).toEqual([
      ['A', 'B'],
      ['A', 'B', 'C'],
    ]);
    expect(settled(moves, 1_101, 'key')).toEqual(['A', 'B', 'C']);
  });

  it('has not settled where something around them was scrolled', () => {
    const moves = new Moves();
    moves.order(['A', 'B', 'C'], 1_000);
    moves.scrolled(1_100);
    expect([settled(moves, 1_349), settled(moves, 1_350)]).toEqual([[], ['A', 'B', 'C']]);
  });

  it('has not settled where one comes, also at its end: something else was drawn there', () => {
    const moves = new Moves();
    moves.order([], 900);
    moves.order(['A'], 1_000);
    expect([settled(moves, 1_100), settled(moves, 1_250)]).toEqual([
      ['B', 'C'],
      ['A', 'B', 'C'],
    ]);
    moves.order(['A', 'B'], 1_300);
    moves.order(['A', 'B'], 1_400);
    expect([settled(moves, 1_401), settled(moves, 1_550)]).toEqual([
      ['A', 'C'],
      ['A', 'B', 'C'],
    ]);
    expect(settled(moves, 1_401, 'key')).toEqual(['A', 'B', 'C']);
  });
});
