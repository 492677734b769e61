import { describe, expect, it } from '@jest/globals';
import { ByName } from './by-name.js';

describe('what is made when its name comes up', () => {
  class One {
    isIdle = true;
    constructor(readonly name: string) {}
  }

  it('is the same as long as it is needed, and never many more than are needed', () => {
    const all = new ByName((name) => new One(name));
    const busy = Array.from({ length: 100 }, (_, n) => Object.assign(all.of(`busy ${n}`), { isIdle: false }));
    const differs: unknown[] = [];
    for (let n = 0; n < 10_000; n++) {
      const { name } = all.of(`idle ${n}`);
      if (name !== `idle ${n}` || all.size > 200) differs.push([n, name, all.size]);
    }
    expect(differs).toEqual([]);
    expect(busy.every((one) => all.of(one.name) === one)).toBe(true);
    for (const one of busy) one.isIdle = true;
    for (let n = 0; n < 1_000; n++) all.of(`later ${n}`);
    expect(all.size).toBeLessThanOrEqual(64);
    expect(all.get('busy 1')).toBeUndefined();
  });
});
