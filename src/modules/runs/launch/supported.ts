import { problem } from '../../../contract/problems.js';
import type { Recipe, RecipeStep } from '../../formulas/compile/recipe.js';

/** A run is carried out whole or not begun: what has no runtime is refused before anything is written. @throws ProblemError not_implemented */
export function requireSupported({ formula, steps }: Recipe): void {
  for (const step of steps) {
    const lacking = lackingIn(step);
    if (lacking !== undefined)
      throw problem(
        'not_implemented',
        `formula ${formula} cannot be run yet: step ${lacking.id} uses ${lacking.kind}, which this service does not carry out`,
      );
  }
}

function lackingIn(step: RecipeStep): RecipeStep | undefined {
  const { control } = step;
  if (control?.kind === 'drain') return step;
  if (control === undefined || !('body' in control)) return undefined;
  for (const inner of control.body?.steps ?? []) {
    const found = lackingIn(inner);
    if (found !== undefined) return found;
  }
  return undefined;
}
