import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { nearest } from './nearest.js';

/** All cells of the table, as the definition has it. */
function changes(a: string, b: string): number {
  if (a === '' || b === '') return a.length + b.length;
  const same = changes(a.slice(1), b.slice(1)) + (a[0] === b[0] ? 0 : 1);
  return Math.min(same, changes(a.slice(1), b) + 1, changes(a, b.slice(1)) + 1);
}

describe('the word that was meant', () => {
  it('is the nearest within two changes', () => {
    expect(nearest('formla', ['format', 'formula', 'former'])).toBe('formula');
    expect(nearest('rules', ['tone'])).toBeUndefined();
    expect([nearest('qa', ['ui'], 1), nearest('webb', ['web'], 2)]).toEqual([undefined, 'web']);
  });

  it('is found by the distance as it is defined', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 6 });
    fc.assert(
      fc.property(word, word, (a, b) => {
        expect(nearest(a, [b])).toBe(changes(a, b) < 3 ? b : undefined);
      }),
    );
  });

  it('is not looked for where a word is longer than any name', () => {
    expect(nearest('a'.repeat(64), [`${'a'.repeat(63)}b`])).toBeDefined();
    expect(nearest('a'.repeat(65), [`${'a'.repeat(64)}b`])).toBeUndefined();
  });
});
