import type { Formula, Step } from './formula.js';
import type { Library } from './library.js';
import { inside, type Issues } from './issues.js';
import type { Budget } from './limits.js';
import { mapped } from './step-tree.js';

/** A formula whose steps have the texts of the files that describe them. */
export function described(
  formula: Formula,
  from: { readonly library: Library; readonly issues: Issues; readonly budget: Budget },
): Formula {
  const read = (steps: readonly Step[]): Step[] =>
    mapped(steps, (step) => {
      const { descriptionFile, ...rest } = step;
      const whole = rest.loop === undefined ? rest : { ...rest, loop: { ...rest.loop, body: read(rest.loop.body) } };
      if (descriptionFile === undefined) return [whole];
      const found = from.library.beside(step.where.file, descriptionFile);
      if (found?.text === undefined) {
        from.issues.error(inside(step.where, 'description_file'), 'there is no such text in the city or its packs');
        return [whole];
      }
      from.budget.spend('copied', found.text.length);
      return [{ ...whole, description: found.text }];
    });
  return { ...formula, steps: read(formula.steps), template: read(formula.template) };
}
