import { describe, expect, it } from '@jest/globals';
import { parsePayloadMatch, payloadMatches } from './payload-match.js';

const fits = (payload: unknown, ...texts: string[]): boolean =>
  payloadMatches(
    payload,
    texts.map((text) => parsePayloadMatch(text)!),
  );

describe('parsePayloadMatch', () => {
  it('splits at the first equals sign and allows an empty value', () => {
    expect(parsePayloadMatch('a.b=c=d')).toEqual({ path: 'a.b', value: 'c=d' });
    expect(parsePayloadMatch('a=')).toEqual({ path: 'a', value: '' });
  });

  it('refuses a text without an equals sign and an empty path', () => {
    expect(parsePayloadMatch('a.b')).toBeUndefined();
    expect(parsePayloadMatch('=b')).toBeUndefined();
  });
});

describe('payloadMatches', () => {
  it('holds for everything when nothing is asked', () => {
    expect(fits(undefined)).toBe(true);
  });

  it('never holds without a payload or with one that is no object', () => {
    for (const payload of [undefined, null, 'a', 1, [{ a: '1' }]]) expect(fits(payload, 'a=1')).toBe(false);
  });

  it('joins different paths by and, one path given several times by or', () => {
    const payload = { a: 'x', b: 'y' };
    expect(fits(payload, 'a=x', 'b=y')).toBe(true);
    expect(fits(payload, 'a=x', 'b=z')).toBe(false);
    expect(fits(payload, 'a=1', 'a=x')).toBe(true);
    expect(fits(payload, 'a=1', 'a=2')).toBe(false);
  });

  it('prefers the literal member over descending', () => {
    const payload = { 'a.b': 'literal', a: { b: 'nested' } };
    expect(fits(payload, 'a.b=literal')).toBe(true);
    expect(fits(payload, 'a.b=nested')).toBe(false);
  });

  it('finds a literal dotted member below an object', () => {
    expect(fits({ bead: { metadata: { 'x.root.id': 'b-1' } } }, 'bead.metadata.x.root.id=b-1')).toBe(true);
  });

  it('does not descend for a path without a dot, nor through arrays, nor into what objects inherit', () => {
    expect(fits({ a: { b: 'x' } }, 'b=x')).toBe(false);
    expect(fits({ a: [{ b: 'x' }] }, 'a.0.b=x')).toBe(false);
    expect(fits({}, 'constructor.name=Object')).toBe(false);
    expect(fits({}, 'a=undefined')).toBe(false);
  });

  it('takes one segment at a time, without going back', () => {
    expect(fits({ a: {}, 'a.b': { c: 'x' } }, 'a.b.c=x')).toBe(false);
  });

  it.each([
    ['text', 'text'],
    ['', ''],
    [3, '3'],
    [3.0, '3'],
    [1e21, '1000000000000000000000'],
    [2.5, '2.5'],
    [true, 'true'],
    [false, 'false'],
    [null, 'null'],
    [[1, 'a'], '[1,"a"]'],
    [{ b: 1 }, '{"b":1}'],
  ])('compares %p as %p', (value, text) => {
    expect(fits({ a: value }, `a=${text}`)).toBe(true);
    expect(fits({ a: value }, `a=${text}x`)).toBe(false);
  });
});
