import { expect, it } from '@jest/globals';
import { runInNewContext } from 'node:vm';
import { printable } from './printable.js';

it('is what a program has printed without what moves a terminal', () => {
  expect(printable('a\u001b[31mred\u001b[0m\r\n\u001b]0;title\u0007b\u001b]8;;http://x\u001b\\c\u0000')).toBe('ared\nbc');
});

it('is made at once of many beginnings of commands that have no end', () => {
  // Each of them would have its end looked for in all that follows.
  const made: unknown = runInNewContext('made()', { made: () => printable(`${'\u001b]'.repeat(500_000)}why`) }, { timeout: 20_000 });
  expect(made).toBe('why');
});
