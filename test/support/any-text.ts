import fc from 'fast-check';

/** Code points of halves of surrogate pairs, which are no text. */
const HALVES = { from: 0xd800, count: 0x800 };
const codePoint = fc
  .oneof(fc.integer({ min: 0, max: 0x7f }), fc.integer({ min: 0, max: 0x10ffff - HALVES.count }))
  .map((n) => String.fromCodePoint(n < HALVES.from ? n : n + HALVES.count));
/** What people take for one character: marks, flags, families, a syllable of several letters. */
const grapheme = fc.constantFrom('e\u0301', 'ก็', '한', '🇫🇷', '👩‍👩‍👧', '👍🏽', 'ﬁ', 'ß', 'İ', '\u202eab');

/**
 * Text of any characters, well formed. The units of the library that do the same keep a table of all code points: 100 MB and
 * a second of work in each worker of the tests.
 */
export const anyText = (maxLength: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.oneof({ weight: 9, arbitrary: codePoint }, { weight: 1, arbitrary: grapheme }), maxLength });
