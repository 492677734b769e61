import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Pattern, PatternError } from './pattern.js';

const atom = fc.constantFrom('a', 'b', '.', '[ab]', '[^a]', '[a-c]', '\\d', '\\w', '\\.', '^', '$', '-');
const { pattern } = fc.letrec<{ pattern: string }>((tie) => ({
  pattern: fc.oneof(
    { maxDepth: 4 },
    atom,
    fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => a + b),
    fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => `(${a}|${b})`),
    fc.tuple(tie('pattern'), fc.constantFrom('*', '+', '?', '{2}', '{1,3}', '{0,}', '*?')).map(([inner, sign]) => `(?:${inner})${sign}`),
  ),
}));

describe('Pattern', () => {
  it('finds what the language of this program finds', () => {
    fc.assert(
      fc.property(pattern, fc.string({ unit: fc.constantFrom('a', 'b', 'c', '1', '.', '-', '\n'), maxLength: 8 }), (source, text) => {
        expect(new Pattern(source).test(text)).toBe(new RegExp(source, 'u').test(text));
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    '(a',
    'a)',
    '[a',
    'a**',
    '*a',
    '\\b',
    '(?=a)',
    '(?<n>a)',
    '\\1',
    'a{2,1}',
    'a{9999}',
    '[b-a]',
    '[[:alpha:]]',
    '(){1000}'.repeat(3),
    '\\',
  ])('refuses %s', (source) => {
    expect(() => new Pattern(source)).toThrow(PatternError);
  });

  it('refuses what repeats repetitions beyond measure, at once', () => {
    expect(() => new Pattern('((((a{1000}){1000}){1000}){1000})')).toThrow('repeats too much');
    expect(() => new Pattern('(((){1000}){1000}){1000}')).toThrow('repeats too much');
    expect(() => new Pattern('('.repeat(200))).toThrow(PatternError);
  });

  it('takes linear time for what takes others an age', () => {
    expect(new Pattern('^(a+)+$').test(`${'a'.repeat(5_000)}b`)).toBe(false);
    expect(new Pattern('^(a|a)*(a|a)*(a|a)*c$').test('a'.repeat(5_000))).toBe(false);
  });
});
