import { describe, expect, it } from '@jest/globals';
import { holds, patternOf } from './find.js';

const entry = [
  { type: 'text', text: 'The Needle (a) is here' },
  { type: 'tool_use', id: 'call-needle-7', name: 'search', input: { kind: 'arguments', arguments: [{ name: 'q', value: 'hay*' }] } },
];
const found = (words: string): boolean => holds(entry, patternOf(words)!);

describe('what is searched for', () => {
  it('is what was typed, in whichever case, and no pattern', () => {
    expect(['needle', '(A)', 'hay*', 'search'].map(found)).toEqual([true, true, true, true]);
    expect(['n.edle', 'hay+', 'b'].map(found)).toEqual([false, false, false]);
    expect([patternOf(''), patternOf('  ')]).toEqual([undefined, undefined]);
  });

  it('is found in nothing that nobody reads', () => {
    expect(['call-needle-7', 'tool_use', 'arguments'].map(found)).toEqual([false, false, false]);
  });

  it('is found each time, however often it was found before', () => {
    const pattern = patternOf('needle')!;
    expect([1, 2, 3].map(() => holds(entry, pattern))).toEqual([true, true, true]);
  });
});
