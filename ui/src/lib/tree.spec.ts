import { describe, expect, it } from '@jest/globals';
import { asTree, unfolded } from './tree.js';

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

describe('unfolded', () => {
  const leaves = [
    ['a', 0],
    ['a1', 1],
    ['a1x', 2],
    ['a2', 1],
    ['b', 0],
    ['b1', 1],
  ].map(([item, depth]) => ({
    item: item as string,
    depth: depth as number,
  }));
  const shown = (...folded: string[]): string[] =>
    unfolded(leaves, (item) => folded.includes(item)).map(({ item, below }) => `${item}:${below}`);

  it('counts what is directly below each, shown or not', () => {
    expect(shown()).toEqual(['a:2', 'a1:1', 'a1x:0', 'a2:0', 'b:1', 'b1:0']);
  });

  it('leaves out all that is below a folded one, and nothing else', () => {
    expect(shown('a')).toEqual(['a:2', 'b:1', 'b1:0']);
    expect(shown('a1', 'b')).toEqual(['a:2', 'a1:1', 'a2:0', 'b:1']);
    expect(shown('a', 'a1')).toEqual(['a:2', 'b:1', 'b1:0']);
  });
});
