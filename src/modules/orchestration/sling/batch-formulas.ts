import { Injectable } from '@nestjs/common';
import { ProblemError, problem } from '../../../contract/problems.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';
import type { Recipe } from '../formulas/compile/recipe.js';
import type { Work } from '../../work/work/work.js';
import type { BatchPlan } from './batch-plans.js';
import { direct, SlingDispatch, type SlungSomething } from './sling-dispatch.js';
import { SlingFormulas, type ChosenFormula, type SlingFormula } from './sling-formulas.js';
import { invalid } from './sling-order.js';
import { MAX_BATCH_CHARACTERS } from './sling.schemas.js';

/** What the formula of a batch is for each of its beads, or why it cannot be used for that one. Undefined: beads alone. */
export type ReadyBatch = ReadonlyMap<string, SlingFormula | ProblemError> | undefined;

/** The formula of a batch: made ready for each bead before anything is written, as its variables may name the bead. */
@Injectable()
export class BatchFormulas {
  constructor(
    private readonly formulas: SlingFormulas,
    private readonly dispatch: SlingDispatch,
  ) {}

  /**
   * A bead that the formula cannot be used for has its refusal; when that is so for all of them, it is the batch's.
   *
   * @param most steps of all runs together
   * @throws ProblemError invalid_request, and what `SlingFormulas.prepare` refuses for reasons that are no bead's
   */
  async ready(city: CityScope, chosen: ChosenFormula, beads: readonly string[], most: number): Promise<ReadyBatch> {
    const ready = new Map<string, SlingFormula | ProblemError>();
    let steps = 0;
    let characters = 0;
    const sizes = new Map<Recipe['steps'], number>();
    const sizeOf = ({ steps: all }: Recipe): number => {
      const size = sizes.get(all) ?? JSON.stringify(all).length;
      sizes.set(all, size);
      return size;
    };
    for (const bead of beads) {
      const one = await this.formulas.prepare(city, chosen, bead).catch(refusalOf);
      if (!(one instanceof ProblemError)) {
        steps += one.recipe.steps.length;
        characters += sizeOf(one.recipe);
      }
      if (steps > most || characters > MAX_BATCH_CHARACTERS)
        throw invalid(
          `the runs of this batch would have more than ${most} steps or ${MAX_BATCH_CHARACTERS} characters; sling fewer beads at once`,
          'body',
        );
      ready.set(bead, one);
    }
    const [first] = ready.values();
    if (first instanceof ProblemError && [...ready.values()].every((one) => one instanceof ProblemError)) throw first;
    return ready;
  }

  /** Slings one bead of a batch. After a refusal nothing of it is written, and the transaction may go on with others. */
  async sling(work: Work, bead: string, { order }: BatchPlan, ready: ReadyBatch): Promise<SlungSomething> {
    if (ready === undefined) return direct(await this.dispatch.sling(work, bead, order));
    const one = ready.get(bead);
    if (one === undefined) throw problem('unavailable', 'the members of the convoy changed meanwhile; try again');
    return work.attempt(async () => {
      if (one instanceof ProblemError) throw one;
      return this.formulas.launch(work, order, one);
    });
  }
}

/** A refusal that may be one bead's; anything else is the batch's. */
function refusalOf(error: unknown): ProblemError {
  if (error instanceof ProblemError && error.problem === 'invalid_request') return error;
  throw error;
}
