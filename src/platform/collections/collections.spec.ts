import { describe, expect, it } from '@jest/globals';
import { Line } from './line.js';
import { isDeeper } from './nesting.js';
import { RecentNames } from './recent-names.js';
import { Slots } from './slots.js';

describe('Slots', () => {
  it('has what was added and not removed, and uses places again', () => {
    const slots = new Slots<string>();
    const [a, b] = [slots.add('a'), slots.add('b')];
    slots.remove(a);
    const c = slots.add('c');
    expect([[...slots].toSorted(), slots.size, c]).toEqual([['b', 'c'], 2, a]);
    slots.remove(b);
    slots.remove(c);
    expect([[...slots], slots.size]).toEqual([[], 0]);
  });
});

describe('RecentNames', () => {
  it('has what was added last, for a time', () => {
    let now = 0;
    const names = new RecentNames({ ms: 10, names: 2 }, () => now);
    const had = (): string[] => ['a', 'b', 'c'].filter((name) => names.has(name));
    for (const name of ['a', 'b', 'a', 'c']) names.add(name);
    expect(had()).toEqual(['a', 'c']);
    now = 5;
    names.add('c');
    names.delete('b');
    now = 10;
    expect(had()).toEqual(['c']);
    names.delete('c');
    expect(had()).toEqual([]);
  });
});

describe('Line', () => {
  it('serves whoever came first, and leaves out whoever has left', () => {
    const line = new Line<number>();
    const tickets = Array.from({ length: 100 }, (_, n) => line.push(n));
    expect([line.leave(tickets[1]!), line.leave(tickets[1]!), line.shift(), line.leave(tickets[0]!)]).toEqual([true, false, 0, false]);
    expect([line.size, line.shift(), line.shift()]).toEqual([98, 2, 3]);
    expect(line.leave(tickets[99]!)).toBe(true);
    const served = Array.from({ length: line.size }, () => line.shift());
    expect([served[0], served.at(-1), line.shift(), line.size]).toEqual([4, 98, undefined, 0]);
  });

  it('goes round its places with whatever comes and leaves', () => {
    const line = new Line<number>();
    const waiting = new Map<number, number>();
    const differs: unknown[] = [];
    const same = (n: number, seen: unknown, wanted: unknown): void => void (seen === wanted || differs.push([n, seen, wanted]));
    let seed = 7;
    const random = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
    for (let n = 0; n < 20_000; n++) {
      const what = random(5);
      if (what < 2 && waiting.size < 200) waiting.set(n, line.push(n));
      else if (what === 2) {
        const first = waiting.keys().next().value;
        same(n, line.shift(), first);
        waiting.delete(first!);
      } else if (what === 3 && waiting.size > 0) {
        const one = [...waiting.keys()][random(waiting.size)]!;
        same(n, line.leave(waiting.get(one)!), true);
        waiting.delete(one);
      }
      same(n, line.size, waiting.size);
    }
    expect(differs).toEqual([]);
  });
});

describe('isDeeper', () => {
  it('counts lists and objects within each other, and looks no further than it is asked to', () => {
    expect([1, null, [], [1, {}], [{ a: [] }]].map((value) => isDeeper(value, 2))).toEqual([false, false, false, false, true]);
    expect(isDeeper(JSON.parse(`${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}`), 100)).toBe(true);
  });
});
