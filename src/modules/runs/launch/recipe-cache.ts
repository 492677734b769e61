import type { Recipe } from '../../formulas/compile/recipe.js';

/** Characters of all recipes that are kept, as JSON: in memory they take a few times as much. */
const KEPT = 4 * 1024 * 1024;

/** Recipes that were compiled last: of one revision and with the same values a formula always becomes the same. */
export class RecipeCache {
  readonly #kept = new Map<string, { readonly recipe: Recipe; readonly size: number }>();
  #size = 0;

  constructor(private readonly limit = KEPT) {}

  get(key: string): Recipe | undefined {
    const found = this.#kept.get(key);
    if (found === undefined) return undefined;
    this.#kept.delete(key);
    this.#kept.set(key, found);
    return found.recipe;
  }

  put(key: string, recipe: Recipe): void {
    const size = key.length + JSON.stringify(recipe).length;
    this.#drop(key);
    this.#kept.set(key, { recipe, size });
    this.#size += size;
    // The oldest first; one that is too large alone is not kept either.
    for (const oldest of this.#kept.keys()) {
      if (this.#size <= this.limit) return;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    this.#size -= this.#kept.get(key)?.size ?? 0;
    this.#kept.delete(key);
  }
}
