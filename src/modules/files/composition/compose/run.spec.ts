import { describe, expect, it } from '@jest/globals';
import { setTimeout } from 'node:timers/promises';
import { MemoryTree } from '../trees/testing/memory-tree.js';
import { TreeFailure, type FileTree } from '../trees/file-tree.js';
import { resolvePath, Run } from './run.js';
import { NamedPacks } from './testing/city.js';

const city = new MemoryTree({});
const pack = new MemoryTree({}, 'desk');

function runOn(tree: FileTree): Run {
  return new Run({ tree, packs: new NamedPacks({}), cityName: 'harbor' });
}

describe('one composing', () => {
  it('tells what is wrong with many files in their order', async () => {
    const run = runOn(city);
    const results = await run.each([3, 1, 2], async (each, n) => {
      await setTimeout(n);
      each.error({ origin: { file: `${n}` }, at: '' }, 'is wrong');
      return n * 10;
    });
    expect(results).toEqual([30, 10, 20]);
    expect(run.issues.map(({ file }) => file)).toEqual(['3', '1', '2']);
  });

  it('says a thing once', () => {
    const run = runOn(city);
    for (let n = 0; n < 3; n++) run.warn({ origin: { file: 'city.toml' }, at: 'a' }, 'is odd');
    expect(run.issues).toHaveLength(1);
  });

  it.each([
    [false, 1, undefined],
    [true, 0, 'is broken'],
  ])('passes on a failure that may not happen again: %s', async (transient, told, thrown) => {
    const failing: FileTree = {
      ...city,
      label: '',
      read: () => Promise.reject(new TreeFailure('x', 'is broken', transient)),
      list: async () => [],
      digests: async () => [],
    };
    const run = runOn(failing);
    const failure = await run.text({ tree: failing, path: 'x' }).catch((error: Error) => error.message);
    expect(failure).toBe(thrown);
    expect(run.issues).toHaveLength(told);
  });

  it.each([
    ['a.md', 'desk', 'agents/x/a.md'],
    ['../y/a.md', 'desk', 'agents/y/a.md'],
    ['//prompts/a.md', '', 'prompts/a.md'],
    ['../../../a.md', undefined, undefined],
    ['//../a.md', undefined, undefined],
    ['/etc/passwd', undefined, undefined],
    ['///etc/passwd', undefined, undefined],
    ['..\\..\\a.md', undefined, undefined],
    ['', undefined, undefined],
  ])('the path %j counts from %j', (written, label, path) => {
    const located = resolvePath(runOn(city), { tree: pack, path: 'agents/x' }, written);
    expect([located?.tree.label, located?.path]).toEqual([label, path]);
  });
});
