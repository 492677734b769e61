import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ProblemError } from '../../contract/problems.js';
import { formatComposite, formatOpaque, parseComposite, parseOpaque, parseSeq } from './cursor.js';
import { decodeHint, encodeHint } from './hint.js';

const name = fc.stringMatching(/^[a-zA-Z0-9][a-zA-Z0-9._-]{0,20}$/);
const seq = fc.integer({ min: 0, max: 2 ** 50 });

describe('city position', () => {
  it.each(['', ' 1', '-1', '1.0', '01', '1e3', '0x1', '9007199254740993', '18446744073709551615', 'abc', '９'])('refuses %p', (value) => {
    expect(() => parseSeq(value, 'after_seq')).toThrow(/^invalid_cursor: after_seq is not a position/);
  });

  it('takes 0 as "before the first event"', () => {
    expect(parseSeq('0', 'after_seq')).toBe(0);
  });
});

describe('composite cursor', () => {
  it('reads back what it writes, sorted by name in byte order', () => {
    fc.assert(
      fc.property(fc.dictionary(name, seq, { minKeys: 1 }), seq, (cities, head) => {
        const positions = new Map([...Object.entries(cities), ['__supervisor__', head] as [string, number]]);
        const text = formatComposite(positions);
        expect(parseComposite(text, 'x')).toEqual(positions);
        const names = text.split(',').map((p) => p.split(':')[0]!);
        expect([...names].sort()).toEqual(names);
      }),
    );
  });

  it.each(['0', '', 'a', 'a:', ':1', 'a:1,', 'a:1,a:2', 'a:-1', 'a:1, b:2', '__other__:1', 'a b:1', 'a:99999999999999999999'])(
    'refuses %p whole',
    (value) => {
      expect(() => parseComposite(value, 'after_cursor')).toThrow(ProblemError);
    },
  );

  it('refuses or accepts any text, and never throws anything else', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[a-z_:,0-9]{0,40}$/)), (text) => {
        try {
          expect(formatComposite(parseComposite(text, 'x')).length).toBeGreaterThan(0);
        } catch (error) {
          expect(error).toBeInstanceOf(ProblemError);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('opaque id', () => {
  it('reads back what it writes, distances behind the checkpoint included', () => {
    const moved = fc.array(fc.tuple(fc.integer({ min: 1, max: 2 ** 31 - 1 }), fc.integer({ min: -(2 ** 40), max: 2 ** 40 })));
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 40 }), moved, (checkpoint, pairs) => {
        expect(parseOpaque(formatOpaque({ checkpoint, moved: pairs }), 'x')).toEqual({ checkpoint, moved: pairs });
      }),
    );
  });

  it('stays short: 12 streams that moved a little cost under 70 characters', () => {
    const moved = Array.from({ length: 12 }, (_, i) => [900 + i, 3] as const);
    expect(formatOpaque({ checkpoint: 123_456, moved }).length).toBeLessThan(70);
  });

  it.each(['~', '~1', '~1.!', '~.AA', '~ZZ.AA', '~1.AA=', '~1.gA', '~1.AAA', '~1.gICAgAgA'])('refuses %p', (value) => {
    expect(() => parseOpaque(value, 'Last-Event-ID')).toThrow(/^invalid_cursor: /);
  });
});

describe('hint', () => {
  it('reads back the heads it names', () => {
    const heads = new Map([['a', 1], ['__supervisor__', 7]]); // prettier-ignore
    expect(decodeHint(encodeHint(heads))).toEqual({ kind: 'moved', heads });
  });

  it('becomes "look everywhere" when it would not fit or cannot be read', () => {
    expect(encodeHint(new Map(Array.from({ length: 2_000 }, (_, i) => [`city-${i}`, i])))).toBe('*');
    for (const payload of ['*', '', 'a', 'a:b', ':1']) expect(decodeHint(payload)).toEqual({ kind: 'all' });
  });
});
