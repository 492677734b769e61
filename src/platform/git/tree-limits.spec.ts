import { expect, it } from '@jest/globals';
import { TreeCheck } from './tree-limits.js';

const LIMITS = { bytes: 1024 * 1024, files: 3 };
const entry = (path: string, size: number | '-' = 1): string => `100644 blob ${'a'.repeat(40)} ${String(size).padStart(7)}\t${path}\0`;

function check(listing: string, step: number, limits = LIMITS): void {
  const tree = new TreeCheck(limits);
  const bytes = Buffer.from(listing);
  for (let at = 0; at < bytes.length; at += step) tree.add(bytes.subarray(at, at + step));
}

it.each([1, 7, 64, 4_096])('counts files, bytes and folders in parts of %i bytes', (step) => {
  const three = entry('ä/\n') + entry('b', 1024 * 1024 - 2) + entry('module', '-');
  check(three, step);
  expect(() => check(three + entry('d'), step)).toThrow('more than 3 files');
  expect(() => check(entry('a') + entry('b', 1024 * 1024), step)).toThrow('larger than 1 MiB');
  expect(() => check(entry(`${'d/'.repeat(32)}f`), step)).toThrow('more than 32 directories deep');
});

// Guard: a path that does not end would be kept whole.
it('keeps no path that is longer than any system takes', () => {
  expect(() => check(entry('a'.repeat(70_000)), 1_000)).toThrow('a path of more than 65536 bytes');
});
