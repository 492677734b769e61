import { describe, expect, it } from '@jest/globals';
import { asTree } from './tree.js';

const tree = (...items: readonly (readonly [string, string?])[]): string[] =>
  asTree(
    items,
    ([id]) => id,
    ([, parent]) => parent,
  ).map(({ item: [id], depth }) => `${'-'.repeat(depth)}${id}`);

describe('asTree', () => {
  it('puts each below what it is part of, in their order', () => {
    expect(tree(['a'], ['b'], ['a2', 'a'], ['b1', 'b'], ['a1', 'a'], ['a2x', 'a2'])).toEqual(['a', '-a2', '--a2x', '-a1', 'b', '-b1']);
  });

  it('loses nothing: neither what has a parent elsewhere, nor circles, nor its own parents', () => {
    expect(tree(['a', 'elsewhere'], ['b', 'b'])).toEqual(['a', 'b']);
    expect(tree(['a', 'b'], ['b', 'a'], ['c'])).toEqual(['c', 'a', 'b']);
  });

  it('is not bound by the depth of a stack', () => {
    const deep = Array.from({ length: 20_000 }, (_, i) => [`n${i}`, i === 0 ? undefined : `n${i - 1}`] as [string, string?]);
    const leaves = asTree(
      deep,
      ([id]) => id,
      ([, parent]) => parent,
    );
    expect(leaves.map(({ depth }) => depth)).toEqual(deep.map((_, i) => i));
  });
});
