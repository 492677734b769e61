import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Turns, type Party, type TurnLimits } from './turns.js';

const LIMITS: TurnLimits = { places: 6, city: { alone: 4, beside: 2 }, key: { alone: 5, beside: 3 } };
const city = (owner: string, lane = 'k'): Party => ({ owner: `city ${owner}`, limited: true, lane });
const key = (owner: string, lane = ''): Party => ({ owner: `key ${owner}`, limited: false, lane });

describe('Turns', () => {
  const line = (
    limits: Partial<TurnLimits> = {},
  ): { turns: Turns; clock: { now: number }; order: string[]; ask: (party: Party, name: string) => void } => {
    const clock = { now: 0 };
    const turns = new Turns({ ...LIMITS, ...limits }, () => clock.now);
    const order: string[] = [];
    const ask = (party: Party, name: string): void => {
      if (turns.take(party)) order.push(name);
      else turns.wait(party, () => void order.push(name));
    };
    return { turns, clock, order, ask };
  };

  it('lets one that is alone have many, and beside others few, as long as these were here lately', () => {
    const { turns, clock } = line();
    const many = (party: Party): number => {
      let n = 0;
      while (turns.take(party)) n++;
      for (let i = 0; i < n; i++) turns.leave(party);
      return n;
    };
    expect(many(city('a'))).toBe(4);
    expect([many(city('b')), many(city('a')), many(key('o', 'a'))]).toEqual([2, 2, 2]);
    clock.now += 9_999;
    expect(many(city('a'))).toBe(2);
    clock.now += 10_000;
    expect(many(city('a'))).toBe(4);
  });

  it('gives each city that a key asks for a share of what the key has', () => {
    const { turns } = line();
    const taken = ['x', 'x', 'x', 'x', 'y', 'y', 'z', 'z'].map((lane) => turns.take(key('o', lane)));
    expect(taken).toEqual([true, true, true, true, true, false, false, false]); // 5 for the key; x alone had 4 of them
    for (let n = 0; n < 3; n++) turns.leave(key('o', 'x'));
    expect(['x', 'x', 'y', 'y', 'z'].map((lane) => turns.take(key('o', lane)))).toEqual([true, false, true, false, true]);
  });

  // One that has looked at all cities and then asks one for much is alone.
  it('gives a city of a key what it may have alone once the key has had nothing at all', () => {
    const { turns } = line();
    const [x, y] = [key('o', 'x'), key('o', 'y')];
    expect([turns.take(x), turns.take(y)]).toEqual([true, true]);
    turns.leave(x);
    expect([turns.take(y), turns.take(y)]).toEqual([true, false]);
    turns.leave(y);
    turns.leave(y);
    expect([1, 2, 3, 4].map(() => turns.take(y))).toEqual([true, true, true, true]);
  });

  it('does not hold back who wants few', () => {
    const { turns } = line();
    expect(turns.take(city('b'))).toBe(true);
    expect([1, 2, 3, 4, 5].map((n) => turns.take(city('a'), n > 4))).toEqual([true, true, true, true, false]);
  });

  it('counts what is written by itself: it is not beside its owner, and other things of the owner do not wait for it', () => {
    const { turns } = line({ places: 20 });
    const writes = (owner: string): Party => ({ ...city(owner), share: 'writes' });
    const taken = (party: Party, times: number): number => Array.from({ length: times }, () => turns.take(party)).filter(Boolean).length;
    expect([taken(writes('a'), 5), taken(city('a'), 5), turns.heldBy(writes('a')), turns.heldBy(city('a'))]).toEqual([4, 4, 4, 4]);
    for (let n = 0; n < 4; n++) turns.leave(writes('a'));
    expect(turns.take(city('b'))).toBe(true);
    expect([taken(writes('a'), 5), taken(city('a'), 5)]).toEqual([2, 0]); // beside another
  });

  it('gives places to cities in turn, and to the keys of a city in turn', () => {
    const { turns, order, ask } = line({ places: 1 });
    ask(city('a', 'x'), 'held');
    for (let n = 0; n < 3; n++) ask(city('a', 'x'), `ax${n}`);
    for (let n = 0; n < 2; n++) ask(city('a', 'y'), `ay${n}`);
    for (let n = 0; n < 2; n++) ask(city('b'), `b${n}`);
    ask(key('o'), 'o0');
    const served: [Party, string][] = [
      [city('a', 'x'), 'ax0'],
      [city('a', 'x'), 'b0'],
      [city('b'), 'o0'],
      [key('o'), 'ay0'],
      [city('a', 'y'), 'b1'],
      [city('b'), 'ax1'],
      [city('a', 'x'), 'ay1'],
      [city('a', 'y'), 'ax2'],
    ];
    for (const [leaving] of served) turns.leave(leaving);
    expect(order).toEqual(['held', ...served.map(([, name]) => name)]);
    turns.leave(city('a', 'x'));
    expect([turns.taken, turns.waiting]).toEqual([0, 0]);
  });

  it('passes over who has left the line', () => {
    const { turns, order, ask } = line({ places: 1 });
    ask(city('a'), 'held');
    const leave = turns.wait(city('a'), () => void order.push('left'));
    ask(city('a'), 'next');
    expect([leave(), leave(), turns.waiting]).toEqual([true, false, 1]);
    turns.leave(city('a'));
    expect(order).toEqual(['held', 'next']);
  });

  it('tells whose places are too few', () => {
    const { turns } = line();
    while (turns.take(city('a')));
    expect([turns.isAtCeiling(city('a')), turns.isAtCeiling(city('b'))]).toEqual([true, false]);
  });

  const party = fc
    .tuple(fc.boolean(), fc.nat(3), fc.nat(2), fc.constantFrom(undefined, undefined, 'writes' as const))
    .map(([limited, owner, lane, share]): Party => {
      const of = limited ? city(`${owner}`, `${lane}`) : key(`${owner}`, `${lane}`);
      return share === undefined ? of : { ...of, share };
    });
  const keyOf = ({ owner, share }: Party): string => `${share ?? ''} ${owner}`;
  const step = fc.oneof(
    { weight: 5, arbitrary: party.map((of) => ({ ask: of })) },
    { weight: 4, arbitrary: fc.nat().map((nth) => ({ leave: nth })) },
    { weight: 1, arbitrary: fc.nat().map((nth) => ({ quit: nth })) },
    { weight: 1, arbitrary: fc.nat(20_000).map((ms) => ({ pass: ms })) },
  );

  it('never gives too many, wastes no place, keeps nobody waiting for more than a round, and forgets nobody', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const clock = { now: 0 };
        const turns = new Turns(LIMITS, () => clock.now);
        const held: Party[] = [];
        const waiting: { of: Party; quit: () => boolean; passed: Map<string, number> }[] = [];
        const own = (of: Party, all: readonly Party[]): number => all.filter((other) => keyOf(other) === keyOf(of)).length;
        const give = (of: Party): void => {
          held.push(of);
          expect(held.length).toBeLessThanOrEqual(LIMITS.places);
          expect(own(of, held)).toBeLessThanOrEqual((of.limited ? LIMITS.city : LIMITS.key).alone);
        };
        const ask = (of: Party): void => {
          if (turns.take(of)) return give(of);
          const entry = { of, quit: (): boolean => false, passed: new Map<string, number>() };
          waiting.push(entry);
          entry.quit = turns.wait(of, () => {
            waiting.splice(waiting.indexOf(entry), 1);
            give(of);
            // Whoever could have had it instead is passed by this owner at most once before its own turn.
            for (const other of waiting) {
              if (keyOf(other.of) === keyOf(of) || own(other.of, held) >= 2) {
                other.passed.clear();
                continue;
              }
              other.passed.set(keyOf(of), (other.passed.get(keyOf(of)) ?? 0) + 1);
            }
            for (const same of waiting) if (keyOf(same.of) === keyOf(of)) same.passed.clear();
            for (const { passed } of waiting) for (const times of passed.values()) expect(times).toBeLessThanOrEqual(1);
          });
        };
        for (const one of steps) {
          if ('ask' in one) ask(one.ask);
          else if ('leave' in one && held.length > 0) turns.leave(held.splice(one.leave % held.length, 1)[0]!);
          else if ('quit' in one && waiting.length > 0) {
            const [left] = waiting.splice(one.quit % waiting.length, 1);
            expect(left!.quit()).toBe(true);
          } else if ('pass' in one) clock.now += one.pass;
          expect([turns.taken, turns.waiting]).toEqual([held.length, waiting.length]);
          if (held.length < LIMITS.places) for (const { of } of waiting) expect(own(of, held)).toBeGreaterThanOrEqual(1); // no place is free for who has none
        }
        while (held.length > 0) turns.leave(held.pop()!);
        expect([turns.taken, turns.waiting, waiting.length]).toEqual([0, 0, 0]);
      }),
      { numRuns: 300, seed: 20261123 },
    );
  });
});
