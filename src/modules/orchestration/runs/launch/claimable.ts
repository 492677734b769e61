import { problem } from '../../../../contract/problems.js';
import type { Recipe } from '../../formulas/compile/recipe.js';

/** A graph that nobody could do anything for is not begun. @throws ProblemError invalid_request */
export function requireWork({ formula, compiler, root_only, steps }: Recipe): void {
  if (compiler === 1 || root_only || steps.slice(1).some(({ kind }) => kind !== 'gate' && kind !== 'scope')) return;
  throw problem('invalid_request', `formulas v2 "${formula}" would materialize no claimable work: it has gates and scopes alone`, {
    at: 'body.formula',
  });
}
