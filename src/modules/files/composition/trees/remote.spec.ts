import { describe, expect, it } from '@jest/globals';
import { packOf, NamedPacks } from '../compose/testing/city.js';
import { TreeFailure, type Allowance, type FileTree } from './file-tree.js';
import { MemoryTree } from './testing/memory-tree.js';
import { answerersOf, RemoteTrees } from './remote.js';

/** The trees as a thread sees them: what goes there and back is copied. */
function remote(city: FileTree, packs = new NamedPacks({}), allowance?: Allowance): RemoteTrees {
  const answerers = answerersOf(city, packs, allowance) as Record<string, (...args: unknown[]) => Promise<unknown>>;
  return new RemoteTrees(async (name, ...args) => structuredClone(await answerers[name]!(...structuredClone(args))));
}

describe('trees of another thread', () => {
  it('say what the trees themselves say', async () => {
    const files = { 'city.toml': 'a = 1', 'agents/a/prompt.md': 'Do it.' };
    const there = remote(new MemoryTree(files), new NamedPacks({ desk: packOf('desk', '', ['b']) }));
    expect(await there.city.read('city.toml')).toBe('a = 1');
    expect(await there.city.read('none')).toBeUndefined();
    expect(await there.city.list('')).toEqual(await new MemoryTree(files).list(''));
    expect(await there.city.digests('agents')).toEqual(await new MemoryTree(files).digests('agents'));
    const request = { source: 'desk', version: undefined, from: there.city, folder: '' };
    const [one, again] = [await there.find(request), await there.find(request)];
    if ('missing' in one || 'missing' in again) throw new Error('the pack is not there');
    expect(one).toMatchObject({ id: 'desk', folder: '' });
    expect(one.tree).toBe(again.tree);
    expect(one.tree.label).toBe('desk');
    expect(await one.tree.read('agents/b/prompt.md')).toBe('Do it.');
    expect(await there.find({ ...request, source: 'none', from: one.tree })).toEqual({ missing: 'there is no such pack' });
  });

  it('fail as they do', async () => {
    const failure = new TreeFailure('x', 'it is not UTF-8 text', true);
    const broken: FileTree = {
      label: '',
      read: () => Promise.reject(failure),
      list: () => Promise.reject(failure),
      digests: () => Promise.reject(failure),
    };
    const { city } = remote(broken);
    for (const reading of [city.read('x'), city.list('x'), city.digests('x')]) {
      const error = await reading.catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(TreeFailure);
      expect(error).toMatchObject({ path: 'x', message: 'it is not UTF-8 text', transient: true });
    }
  });

  it('count what all readings take together, here and there', async () => {
    const city: FileTree = {
      ...new MemoryTree({}),
      label: '',
      read: () => Promise.resolve('x'.repeat(60)),
      list: () => Promise.resolve([]),
      digests: (_path, allowance) => {
        allowance!.bytes -= 50;
        return allowance!.bytes < 0 ? Promise.reject(new TreeFailure('', 'too much')) : Promise.resolve([]);
      },
    };
    const { city: there } = remote(city, undefined, { files: 10, bytes: 150 });
    const own = { files: 10, bytes: 150 };
    await there.digests('a', own);
    expect(own.bytes).toBe(100);
    await there.read('b');
    // 40 are left: the thread cannot ask for more by telling of another allowance.
    await expect(there.digests('c', { files: 1_000, bytes: 1_000 })).rejects.toThrow('too much');
  });
});
