/** The numbers of a JSON text that a parser would change without a word, or that would take far more room stored than sent. */
import { endOfString } from './json-strings.js';

/** Sixteen digits may be rounded; an exponent of two digits may be too large for a number, or too small. */
const HINT = /\d{16}|\d[eE][+-]?\d{2}/;
/** Characters of the shortest that is looked at: `1e99`. */
const SHORTEST = 4;
/** As many as are told; the first of them suffice to refuse. */
const MAX_FOUND = 20;
/** Digits that the exponents of a text may add: Postgres writes `1e308` out, so that a megabyte of them would become fifty. */
const ADDED_DIGITS = 64 * 1024;
const QUOTE = 0x22;
const PLUS = 0x2b;
const MINUS = 0x2d;
const POINT = 0x2e;
const LARGE_E = 0x45;
const SMALL_E = 0x65;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;

export interface InexactNumber {
  /** Where its literal begins and ends in the text. */
  readonly from: number;
  readonly to: number;
  readonly why: string;
}

/** @param text valid JSON; one of a megabyte that is all numbers takes about as long as to parse it */
export function inexactNumbers(text: string): readonly InexactNumber[] {
  const found: InexactNumber[] = [];
  if (!HINT.test(text)) return found;
  let added = 0;
  for (let at = 0; at < text.length && found.length < MAX_FOUND; at++) {
    const c = text.charCodeAt(at);
    if (c === QUOTE) at = endOfString(text, at);
    else if (c === MINUS || (c >= DIGIT_0 && c <= DIGIT_9)) {
      const to = endOfNumber(text, at);
      const literal = to - at < SHORTEST ? '' : text.slice(at, to);
      added += digitsAddedBy(literal);
      const why = added > ADDED_DIGITS ? 'is one of too many numbers with large exponents' : whyInexact(literal);
      if (why !== undefined) found.push({ from: at, to, why });
      at = to - 1;
    }
  }
  return found;
}

/** Digits, signs, the point and the letter of an exponent: whatever else follows ends it. */
function endOfNumber(text: string, from: number): number {
  let at = from + 1;
  for (; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if ((c < DIGIT_0 || c > DIGIT_9) && c !== POINT && c !== SMALL_E && c !== LARGE_E && c !== PLUS && c !== MINUS) break;
  }
  return at;
}

function digitsAddedBy(literal: string): number {
  const exponent = /e([+-]?\d+)$/i.exec(literal)?.[1];
  return exponent === undefined ? 0 : Math.min(Math.abs(Number(exponent)), 400);
}

function whyInexact(literal: string): string | undefined {
  // Fifteen digits are always kept.
  if (literal.length <= 15 && !/e/i.test(literal)) return undefined;
  const value = Number(literal);
  if (!Number.isFinite(value)) return 'must not be larger than 1.7e308';
  if (value === 0 && /[1-9]/.test(literal.replace(/[eE].*/, ''))) return 'must not be closer to 0 than 5e-324';
  // Not finite from 310 digits on: what is left to compare is short.
  if (/^-?\d+$/.test(literal) && BigInt(literal) !== BigInt(value)) return 'must be an integer that is kept exactly: send it as a string';
  return undefined;
}
