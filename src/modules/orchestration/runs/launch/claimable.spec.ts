import { describe, expect, it } from '@jest/globals';
import { recipeOf } from '../testing/launches.js';
import { requireWork } from './claimable.js';

const HEAD = 'formula = "f"\n[requires]\nformula_compiler = ">=2.0.0"\n';
const step = (more: string): string => `[[steps]]\nid = "a"\ntitle = "A"\n${more}`;

describe('a recipe', () => {
  it.each([
    ['a tree', `formula = "f"\n${step('')}`],
    ['a root alone', 'formula = "f"\n'],
    ['a graph with a step', HEAD + step('')],
    ['a graph whose step is tried again', HEAD + step('retry = { max_attempts = 2 }\n')],
    ['a graph with a scope and its member', `${HEAD}${step('metadata = { "gc.kind" = "scope" }\n')}[[steps]]\nid = "m"\ntitle = "M"\nmetadata = { "gc.scope_ref" = "a" }\n`],
  ])('can be run: %s', (_what, text) => {
    expect(() => requireWork(recipeOf(text))).not.toThrow();
  }); // prettier-ignore

  it('is refused when nobody could do anything for it', () => {
    const text = `${HEAD}${step('metadata = { "gc.kind" = "scope" }\n')}`;
    expect(() => requireWork(recipeOf(text))).toThrow('formulas v2 "f" would materialize no claimable work');
  });
});
