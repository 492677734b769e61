import { describe, expect, it } from '@jest/globals';
import { PAGE_BYTES } from '../../../platform/database/page-bytes.js';
import { pageAfter } from './page.js';

/** All pages of a list, each as its items. */
function pagesOf(items: readonly string[], limit: number): string[][] {
  const pages: string[][] = [];
  for (let token: string | undefined; ;) {
    const page = pageAfter(items, { cursor: token, limit }, 7);
    pages.push(page.items);
    token = page.next.next_cursor;
    if (token === undefined) return pages;
  }
}

describe('a page of a list of one revision', () => {
  it('ends by its items', () => {
    expect(pagesOf(['a', 'b', 'c'], 2)).toEqual([['a', 'b'], ['c']]);
  });

  it('ends by its bytes, has one item at least, and leaves none out', () => {
    const long = 'x'.repeat(PAGE_BYTES / 2 - 10);
    const items = [`${long}1`, `${long}2`, `${long}3`, `${long}${long}${long}4`, 'short', 'last'];
    expect(pagesOf(items, 100).map((page) => page.map((item) => item.slice(-5)))).toEqual([
      ['xxxx1', 'xxxx2'],
      ['xxxx3'],
      ['xxxx4'],
      ['short', 'last'],
    ]);
  });

  it('is of its own revision', () => {
    expect(() => pageAfter(['a'], { cursor: '6.1', limit: 1 }, 7)).toThrow(/has changed since/);
    expect(() => pageAfter(['a'], { cursor: 'x', limit: 1 }, 7)).toThrow(/none that this list gave/);
  });
});
