import type { Recipe } from '../../formulas/compile/recipe.js';

/** Whether a run of it has more to do than to wait for its steps: gates that others open decide nothing. */
export function decides({ compiler, root_only, steps }: Recipe): boolean {
  return (
    compiler === 2 &&
    !root_only &&
    steps.some(
      ({ control, kind }) =>
        kind === 'scope' || kind === 'cleanup' || (control !== undefined && (control.kind !== 'gate' || control.type === 'condition')),
    )
  );
}
