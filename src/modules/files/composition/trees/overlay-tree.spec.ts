import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { folder, removeFolders } from '../../../../../test/support/folders.js';
import { DiskTree } from './disk-tree.js';
import { TreeFailure, type FileTree } from './file-tree.js';
import { OverlayTree } from './overlay-tree.js';

let root: string;
beforeAll(async () => {
  root = await folder('svc-overlay-');
  for (const [name, entries] of [
    ['full', 2_000],
    ['over', 2_001],
  ] as const) {
    await mkdir(path.join(root, name));
    // One that a list leaves out counts as well.
    const names = Array.from({ length: entries }, (_, n) => (n === 0 ? '.keep' : `${n}.toml`));
    await Promise.all(names.map((each) => writeFile(path.join(root, name, each), '')));
  }
});
afterAll(removeFolders);

const edited = (texts: Record<string, string>, removed: string[] = []): OverlayTree =>
  new OverlayTree(new DiskTree(root), { texts: new Map(Object.entries(texts)), removed: new Set(removed) });

const seen = async (tree: FileTree, name: string): Promise<(number | TreeFailure)[]> =>
  Promise.all(
    [tree.list(name), tree.digests(name)].map((work) =>
      work.then(
        (found) => found.length,
        (error: TreeFailure) => error,
      ),
    ),
  );

describe('OverlayTree', () => {
  it('knows what of it nobody has asked for', async () => {
    const tree = edited({ 'city.toml': 'x', 'draft.toml': 'y', 'agents/a/prompt.md': 'z' });
    await tree.list('');
    expect(tree.overlooked()).toEqual(['city.toml', 'draft.toml', 'agents/a/prompt.md']);
    await tree.read('city.toml');
    await tree.digests('agents');
    expect(tree.overlooked()).toEqual(['draft.toml']);
  });

  // Guard: an edit is refused that would leave a directory with more than may be read.
  it('has no more in a directory than the disk may have after the edit', async () => {
    const tooMany = [
      new TreeFailure('over', 'it holds more than 2000 entries'),
      new TreeFailure('over', 'it holds more than 2000 entries'),
    ];
    expect(await seen(new DiskTree(root), 'over')).toEqual(tooMany);
    const full = tooMany.map(({ message }) => new TreeFailure('full', message));
    expect(await seen(edited({ 'full/new.toml': '' }), 'full')).toEqual(full);
    expect(await seen(edited({ 'full/new/agent.toml': '' }), 'full')).toEqual(full);
    expect(await seen(edited({ 'full/.new': '' }), 'full')).toEqual(full);
    expect(await seen(edited({ 'over/new.toml': '' }, ['over/1.toml']), 'over')).toEqual(tooMany);
    expect(await seen(edited({}, ['over/none.toml']), 'over')).toEqual(tooMany);
  });

  it('can be led back to what may be read', async () => {
    expect(await seen(edited({ 'full/1.toml': 'another' }), 'full')).toEqual([1_999, 2_000]);
    expect(await seen(edited({ 'full/new.toml': '' }, ['full/1.toml']), 'full')).toEqual([1_999, 2_000]);
    expect(await seen(edited({}, ['over/1.toml']), 'over')).toEqual([1_999, 2_000]);
    expect(await seen(edited({}, ['over']), 'over')).toEqual([0, 0]);
  });
});
