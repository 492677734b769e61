import { describe, expect, it } from '@jest/globals';
import type { Recipe } from '../../formulas/compile/recipe.js';
import { RecipeCache } from './recipe-cache.js';

const recipe = (formula: string): Recipe => ({ formula }) as Recipe;
const SIZE = 1 + JSON.stringify(recipe('f')).length;

describe('recipes that are kept', () => {
  it('are found by all that they depend on, and no other', () => {
    const cache = new RecipeCache();
    const f = recipe('f');
    cache.put('a', f);
    expect([cache.get('a'), cache.get('b')]).toEqual([f, undefined]);
  });

  it('make room for newer ones, those first that were asked for least lately', () => {
    const cache = new RecipeCache(2 * SIZE);
    for (const key of ['a', 'b']) cache.put(key, recipe('f'));
    cache.put('b', recipe('f'));
    cache.get('a');
    cache.put('c', recipe('f'));
    expect(['a', 'b', 'c'].map((key) => cache.get(key) !== undefined)).toEqual([true, false, true]);
    cache.put('d', recipe('x'.repeat(2 * SIZE)));
    expect(['a', 'c', 'd'].map((key) => cache.get(key))).toEqual([undefined, undefined, undefined]);
  });
});
