import { describe, expect, it } from '@jest/globals';
import { Tail } from './tail.js';

function tailOf(pieces: readonly Buffer[]): string {
  const tail = new Tail(24);
  for (const piece of pieces) tail.push(piece);
  return tail.text();
}

describe('the end of an output', () => {
  // Guard: of a secret whose name was cut away a part was shown.
  it.each([
    ['all of it where it is short', 'API_KEY=secret\n', 'API_KEY=secret\n'],
    ['whole lines', 'API_KEY=secretsecret\none\nline\n', 'one\nline\n'],
    ['whole letters', '漢漢漢漢漢漢漢漢漢\n漢', '漢'],
    ['a last line without its end', 'API_KEY=secretsecretsecret\nline', 'line'],
    ['what is behind a value where there are no lines', 'Authorization: Bearer s3cret so on', 'so on'],
    ['what is behind some members where there are no lines', '{"key":"s3crets3cret","b":1,"c":2,"d":3,"e":4}\n', '"e":4}\n'],
    ['nothing where it may all be one value', `API_KEY=${'s'.repeat(40)}\n`, ''],
  ])('is %s', (_what, text, kept) => {
    const all = Buffer.from(text);
    expect(tailOf([all])).toBe(kept);
    expect(tailOf([...all].map((byte) => Buffer.of(byte)))).toBe(kept);
  });
});
