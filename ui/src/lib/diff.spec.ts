import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { diffOf, partsOf } from './diff.js';

const told = (before: string, after: string): string[] => diffOf(before, after).map(({ sign, text }) => `${sign}${text}`);

describe('what has changed', () => {
  it('is told line by line, with what stands near it', () => {
    const lines = Array.from({ length: 20 }, (_, i) => String(i));
    const changed = lines.map((line) => (line === '10' ? 'ten' : line));
    expect(told(lines.join('\n'), changed.join('\n'))).toEqual(['gap', ' 7', ' 8', ' 9', '-10', '+ten', ' 11', ' 12', ' 13', 'gap']);
    expect(told('', 'a\nb\n')).toEqual(['+a', '+b']);
    expect(told('a\nb\n', '')).toEqual(['-a', '-b']);
    expect(told('a\nx\nb\ny\nc', 'a\nb\nz\nc')).toEqual([' a', '-x', ' b', '-y', '+z', ' c']);
    expect(told('same', 'same')).toEqual(['gap']);
  });

  it('gives both texts back, however they differ', () => {
    const text = fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 12 });
    fc.assert(
      fc.property(text, text, (before, after) => {
        const lines = diffOf(before.join('\n'), after.join('\n')).filter(({ sign }) => sign !== ' ' && sign !== 'gap');
        const count = (some: readonly string[], line: string): number => some.filter((one) => one === line).length;
        for (const line of ['a', 'b', 'c']) {
          const moved = lines.reduce((sum, { sign, text: of }) => sum + (of !== line ? 0 : sign === '+' ? 1 : -1), 0);
          expect(count(after, line) - count(before, line)).toBe(moved);
        }
      }),
    );
  });

  it('puts all of the old before all of the new where both are long', () => {
    const [before, after] = ['a', 'b'].map((one) => Array.from({ length: 1_000 }, (_, i) => `${one}${i}`).join('\n'));
    const signs = diffOf(before!, after!).map(({ sign }) => sign);
    expect(signs.lastIndexOf('-')).toBeLessThan(signs.indexOf('+'));
  });

  it('is drawn whole, and in few parts where it is long', () => {
    const text = Array.from({ length: 20_000 }, (_, i) => `line ${i}`).join('\n');
    const drawn = (before: string): string[] => partsOf(diffOf(before, text)).map(({ sign, lines }) => `${sign}${lines.join('\n')}`);
    // Texts that are long are not compared by what differs in them.
    expect(drawn('').join() === `+${text}`).toBe(true);
    expect(drawn('old').join() === `-old,+${text}`).toBe(true);
    expect(partsOf(diffOf('', 'a\nb'))).toEqual([
      { sign: '+', lines: ['a'] },
      { sign: '+', lines: ['b'] },
    ]);
  });
});
