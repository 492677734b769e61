import { describe, expect, it } from '@jest/globals';
import { MuchWasTaken } from './memory-return.js';

const MB = 2 ** 20;
const IDLE = 0.01;
const BUSY = 0.5;

const MINUTE = 12;

/** What each look says, for as many MB as are given. */
const looks = (taken: MuchWasTaken, mbs: readonly number[], busy = IDLE): boolean[] => mbs.map((mb) => taken.look({ rss: mb * MB, busy }));
const minutes = (count: number, mb: number): number[] => Array.from({ length: count * MINUTE }, () => mb);

describe('memory that work has left behind', () => {
  it('is given back after a minute of rest, once in ten minutes', () => {
    const taken = new MuchWasTaken(300 * MB);
    expect(looks(taken, [200, 300, ...minutes(2, 400)], BUSY)).not.toContain(true);
    expect(looks(taken, minutes(1, 400)).indexOf(true)).toBe(MINUTE - 1);
    taken.collected(250 * MB);
    expect(looks(taken, [...minutes(2, 250), ...minutes(12, 320)]).indexOf(true)).toBe(10 * MINUTE - 1);
  });

  it('is not looked for while the process has something to do now and then, nor where it is little', () => {
    const taken = new MuchWasTaken(300 * MB);
    for (let n = 0; n < 4; n++) expect([...looks(taken, [200, 400], BUSY), ...looks(taken, minutes(1, 400).slice(1))]).not.toContain(true);
    expect(looks(new MuchWasTaken(300 * MB), [200, 230, ...minutes(2, 260)])).not.toContain(true);
  });

  it('counts from the least that the process came out with', () => {
    expect(looks(new MuchWasTaken(300 * MB), [400, 220, 220, ...minutes(1, 270), 290]).indexOf(true)).toBe(MINUTE + 3);
  });
});
