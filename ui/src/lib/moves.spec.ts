import { describe, expect, it } from '@jest/globals';
import { Moves } from './moves.js';

const settled = (moves: Moves, now: number): string[] => ['A', 'B', 'C'].filter((id) => moves.isSettled(id, now));
const at = (...tops: readonly number[]): Map<string, number> => new Map(tops.map((top, i) => ['ABC'[i]!, top]));

describe('what stands below one another', () => {
  it('has not settled where one has gone, for a while, and has where one comes at its end', () => {
    const moves = new Moves();
    moves.order(['A', 'B'], 1_000);
    moves.order(['A', 'B', 'C'], 1_100);
    expect(settled(moves, 1_100)).toEqual(['A', 'B', 'C']);
    moves.order(['B', 'C'], 1_200);
    moves.order(['B', 'C'], 1_300);
    expect([settled(moves, 1_449), settled(moves, 1_450)]).toEqual([[], ['A', 'B', 'C']]);
  });

  it('has not settled below one that has grown, whatever else changes meanwhile', () => {
    const moves = new Moves();
    moves.places(at(0, 10, 20), 1_000);
    expect(settled(moves, 1_000)).toEqual(['A', 'B', 'C']);
    moves.places(at(0, 10, 25), 1_100);
    moves.places(at(0, 10, 25), 1_200);
    expect([settled(moves, 1_349), settled(moves, 1_350)]).toEqual([
      ['A', 'B'],
      ['A', 'B', 'C'],
    ]);
  });

  it('has not settled where one comes into the place of another', () => {
    const moves = new Moves();
    moves.places(at(20), 1_000);
    moves.places(at(10, 20), 1_100);
    expect(settled(moves, 1_200)).toEqual(['C']);
    // What comes at the end of a list is in nobody's place.
    moves.places(at(10, 20, 30), 1_500);
    expect(settled(moves, 1_500)).toEqual(['A', 'B', 'C']);
  });
});
