import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { bodyHash, canonicalJson } from './canonical-json.js';

/** The same value with the members of every object in another order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([k, v]) => [k, reversed(v)]),
  );
}

describe('canonicalJson', () => {
  it('sorts members at every depth and keeps the order of arrays', () => {
    expect(canonicalJson({ b: [{ d: 1, c: 2 }, 'x'], a: null })).toBe('{"a":null,"b":[{"c":2,"d":1},"x"]}');
  });

  it('leaves absent members out and treats an absent body as null', () => {
    expect(canonicalJson({ a: undefined, b: 1 })).toBe('{"b":1}');
    expect(canonicalJson(undefined)).toBe('null');
  });

  it('parses back to the same value, whatever the value', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)))));
  });

  it('gives equal hashes exactly to equal values', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => expect(bodyHash(reversed(value))).toEqual(bodyHash(value))));
    expect(bodyHash({ a: 1 })).not.toEqual(bodyHash({ a: '1' }));
    expect(bodyHash([1, 2])).not.toEqual(bodyHash([2, 1]));
  });
});
