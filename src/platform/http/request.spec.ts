import { describe, expect, it } from '@jest/globals';
import { createRequestIds, pathOf } from './request.js';

describe('request ids', () => {
  it('are 16 hex characters and do not repeat', () => {
    const next = createRequestIds();
    const ids = Array.from({ length: 5000 }, () => next());
    expect(new Set(ids).size).toBe(5000);
    expect(ids.every((id) => /^[0-9a-f]{16}$/.test(id))).toBe(true);
  });
});

describe('pathOf', () => {
  it.each([
    ['/a/b?c=d', '/a/b'],
    ['/a%20b', '/a%20b'],
    ['/a"b', '/a%22b'],
    ['/', '/'],
  ])('%s is %s', (url, path) => expect(pathOf(url)).toBe(path));
});
