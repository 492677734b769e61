import { createHash } from 'node:crypto';
import type { Compiled } from '../../formulas/compile/compile.js';
import type { Recipe } from '../../formulas/compile/recipe.js';
import { valueFault } from '../../formulas/compile/vars.js';

/** Recipes that a process keeps, and characters of them. */
const KEPT = 64;
const CHARACTERS = 2 * 1024 * 1024;

type Compiling = () => Promise<Compiled | undefined>;

/**
 * Recipes that were compiled lately, each under all that it was made of: one of 200 steps takes 5 ms, in a thread. What a batch or a city's
 * orders launch many times is compiled once, unless the bead that it is for makes a difference.
 */
export class Recipes {
  readonly #kept = new Map<string, { readonly recipe: Recipe; readonly size: number }>();
  readonly #coming = new Map<string, Promise<unknown>>();
  #characters = 0;

  /** @param made everything else that it is made of, the revision with it: JSON */
  async of(made: unknown, issue: string | undefined, compile: Compiling): Promise<Compiled | undefined> {
    const key = createHash('sha256')
      .update(JSON.stringify([made, issue !== undefined]))
      .digest('base64');
    // Whatever becomes of another one's: who cannot use it compiles for himself.
    const before = this.#coming.get(key);
    if (before !== undefined) await before.catch(() => undefined);
    const kept = this.#find(key, issue);
    if (kept !== undefined) return { recipe: kept, issues: [] };
    const coming = this.#compile(key, issue, compile);
    this.#coming.set(key, coming);
    try {
      return await coming;
    } finally {
      if (this.#coming.get(key) === coming) this.#coming.delete(key);
    }
  }

  async #compile(key: string, issue: string | undefined, compile: Compiling): Promise<Compiled | undefined> {
    const compiled = await compile();
    if (compiled?.recipe !== undefined && !(compiled.ofIssue === true && issue !== undefined)) this.#keep(key, compiled.recipe);
    return compiled;
  }

  #find(key: string, issue: string | undefined): Recipe | undefined {
    const kept = this.#kept.get(key);
    if (kept === undefined) return undefined;
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    if (issue === undefined) return kept.recipe;
    // A value that is wrong has its message from compiling.
    if (valueFault({ type: 'string' }, issue) !== undefined) return undefined;
    return { ...kept.recipe, vars: { ...kept.recipe.vars, issue } };
  }

  #keep(key: string, recipe: Recipe): void {
    this.#forget(key);
    const size = JSON.stringify(recipe).length;
    this.#kept.set(key, { recipe, size });
    this.#characters += size;
    for (const oldest of this.#kept.keys()) {
      if (oldest === key || (this.#kept.size <= KEPT && this.#characters <= CHARACTERS)) break;
      this.#forget(oldest);
    }
  }

  #forget(key: string): void {
    this.#characters -= this.#kept.get(key)?.size ?? 0;
    this.#kept.delete(key);
  }
}
