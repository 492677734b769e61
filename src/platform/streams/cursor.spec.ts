import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ProblemError } from '../../contract/problems.js';
import { formatComposite, formatOpaque, parseComposite, parseOpaque, parseSeq } from './cursor.js';
import { decodeHint, encodeHint } from './hint.js';
import { PositionSeal } from './position-seal.js';

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

const seal = new PositionSeal(Buffer.alloc(32, 1));

describe('opaque id', () => {
  it('reads back what it writes, distances behind the checkpoint included', () => {
    const moved = fc.array(fc.tuple(fc.integer({ min: 1, max: 2 ** 31 - 1 }), fc.integer({ min: -(2 ** 40), max: 2 ** 40 })));
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 40 }), moved, (checkpoint, pairs) => {
        expect(parseOpaque(formatOpaque({ checkpoint, moved: pairs }, seal), 'x', new PositionSeal(Buffer.alloc(32, 1)))).toEqual({
          checkpoint,
          moved: pairs,
        });
      }),
    );
  });

  it('stays short: 12 streams that moved a little cost under 90 characters', () => {
    const moved = Array.from({ length: 12 }, (_, i) => [900 + i, 3] as const);
    expect(formatOpaque({ checkpoint: 123_456, moved }, seal).length).toBeLessThan(90);
  });

  it.each(['~', '~1', '~1.!', '~.AA', '~ZZ.AA', '~1.AA=', '~1.gA', '~1.AAA', '~1.gICAgAgA'])('refuses %p', (value) => {
    for (const text of [value, seal.sign(value)])
      expect(() => parseOpaque(text, 'Last-Event-ID', seal)).toThrow(/^invalid_cursor: Last-Event-ID is not a position/);
  });

  // Guard: an opaque id is one that was handed out.
  it('is refused when somebody made it up, changed it, or has it from another deployment', () => {
    const good = formatOpaque({ checkpoint: 35, moved: [[2, -7]] }, seal);
    const changed = Array.from(good, (c, at) => good.slice(0, at) + (c === 'A' ? 'B' : 'A') + good.slice(at + 1));
    const foreign = formatOpaque({ checkpoint: 35, moved: [[2, -7]] }, new PositionSeal(Buffer.alloc(32, 2)));
    for (const text of [good.slice(0, -17), good.slice(0, -1), `${good}A`, foreign, ...changed])
      expect(() => parseOpaque(text, 'Last-Event-ID', seal)).toThrow(/^invalid_cursor: Last-Event-ID is not a position/);
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
