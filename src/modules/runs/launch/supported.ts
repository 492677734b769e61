import { problem } from '../../../contract/problems.js';
import type { Control, Recipe, RecipeStep } from '../../formulas/compile/recipe.js';

/** What each part of a step that this service does not carry out yet is called in a formula. */
const NAMES: Readonly<Record<Exclude<Control['kind'], 'gate'>, string>> = {
  retry: 'retry',
  check: 'check',
  loop: 'loop.until',
  fanout: 'on_complete',
  drain: 'drain',
};

/** A run is carried out whole or not begun: what has no runtime is refused before anything is written. @throws ProblemError not_implemented */
export function requireSupported({ formula, steps }: Recipe): void {
  for (const step of steps) {
    const lacking = lackingOf(step);
    if (lacking !== undefined)
      throw problem(
        'not_implemented',
        `formula ${formula} cannot be run yet: step ${step.id} uses ${lacking}, which this service does not carry out`,
      );
  }
}

function lackingOf({ control, scope, kind }: RecipeStep): string | undefined {
  if (scope !== undefined || kind === 'scope' || kind === 'cleanup') return 'scopes';
  if (control === undefined) return undefined;
  if (control.kind !== 'gate') return NAMES[control.kind];
  return control.type === 'condition' ? 'compose.gate' : undefined;
}
