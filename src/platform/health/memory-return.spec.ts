import { describe, expect, it } from '@jest/globals';
import { MuchWasTaken } from './memory-return.js';

const MB = 2 ** 20;
const IDLE = 0.01;
const BUSY = 0.5;

/** What each look says, for as many MB as are given. */
const looks = (taken: MuchWasTaken, mbs: readonly number[], busy = IDLE): boolean[] => mbs.map((mb) => taken.look({ rss: mb * MB, busy }));

describe('memory that work has left behind', () => {
  it('is given back at the second quiet look, once', () => {
    const taken = new MuchWasTaken(300 * MB);
    expect(looks(taken, [200, 300, 400], BUSY)).not.toContain(true);
    expect(looks(taken, [400, 400])).toEqual([false, true]);
    taken.collected(250 * MB);
    expect(looks(taken, [250, 300, 300, 320, 320])).toEqual([false, false, false, true, true]);
  });

  it('is not looked for while the process has something to do, nor where it is little', () => {
    const taken = new MuchWasTaken(300 * MB);
    for (let n = 0; n < 4; n++) expect([...looks(taken, [200, 400], BUSY), ...looks(taken, [400])]).not.toContain(true);
    expect(looks(new MuchWasTaken(300 * MB), [200, 230, 260, 260, 260])).not.toContain(true);
  });

  it('counts from the least that the process came out with', () => {
    expect(looks(new MuchWasTaken(300 * MB), [400, 220, 220, 270, 290])).toEqual([false, false, false, false, true]);
  });
});
