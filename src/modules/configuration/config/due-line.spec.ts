import { describe, expect, it } from '@jest/globals';
import { DueLine } from './due-line.js';

describe('a line of who is to be looked at', () => {
  it('has the first as the next, after a pause, and once', () => {
    const line = new DueLine<string>(1_000, 100);
    line.put('a', 10, 0);
    line.put('b', 10, 500);
    expect([line.next(999), line.next(1_000)]).toEqual([undefined, 'a']);
    line.put('a', 10, 1_000);
    expect([line.next(1_499), line.next(1_500)]).toEqual([undefined, 'b']);
    line.remove('b');
    expect([line.next(1_999), line.next(2_000), line.size]).toEqual([undefined, 'a', 1]);
  });

  it('does so much in a second, however long it is', () => {
    const line = new DueLine<number>(1_000, 100);
    for (let n = 0; n < 50; n++) line.put(n, 10, 0);
    let [now, done] = [0, 0];
    for (; now < 60_000; now += 100) {
      const next = line.next(now);
      if (next === undefined) continue;
      done += 10;
      line.put(next, 10, now);
    }
    expect(done / 60).toBeLessThanOrEqual(100);
    expect(done / 60).toBeGreaterThan(80);
  });
});
