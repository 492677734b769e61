import { lengthOf } from '../../formulas/compile/fragments.js';
import type { RecipeStep } from '../../formulas/compile/recipe.js';
import type { Rounds } from './facts.js';
import type { Node } from './nodes.js';
import { MAX_CHARACTERS, MAX_STEPS } from './rounds.js';

/** Why a run does not get a round. */
export interface Objection {
  readonly reason: string;
  /** It has as much as it may have. */
  readonly isFull: boolean;
}

/** What a run may still get, whatever begins at once. */
export class Room {
  /** Ids of steps that controls get just now: they are not among the nodes yet. */
  readonly #coming = new Set<string>();
  /** Characters that the run may still get, once that is asked. */
  #characters: number | undefined;

  constructor(private readonly nodes: ReadonlyMap<string, Node>) {}

  /** How many steps it may still get. */
  steps(): number {
    return MAX_STEPS - this.nodes.size - this.#coming.size;
  }

  /** Keeps the place of a round, or answers why there is none. */
  take(rounds: Rounds): Objection | undefined {
    const taken = this.#taken(rounds);
    if (taken !== undefined) return { reason: `there is another step ${taken}`, isFull: false };
    if (rounds.steps.length > this.steps()) return { reason: `the run has more than ${MAX_STEPS} steps`, isFull: true };
    this.#characters ??= MAX_CHARACTERS - lengthOf({ steps: Array.from(this.nodes.values(), ({ fact }) => fact.step) });
    const length = lengthOf({ steps: rounds.steps.map(({ step }) => step) });
    if (length > this.#characters) return { reason: `the run has more than ${MAX_CHARACTERS} characters`, isFull: true };
    this.#characters -= length;
    for (const { step } of rounds.steps) this.#coming.add(step.id);
    return undefined;
  }

  /**
   * An id in a round that another step has too: nothing could tell them apart. Formulas of before may make some. There steps of a round have
   * done with the id of one that is over, in an earlier round, as long as neither makes anything itself, and go on.
   */
  #taken({ steps }: Rounds): string | undefined {
    const ids = new Set<string>();
    for (const { step } of steps) {
      const other = this.nodes.get(step.id);
      const isFree = other === undefined || (makesNothing(step) && followsOn(other));
      if (!isFree || ids.has(step.id) || this.#coming.has(step.id)) return step.id;
      ids.add(step.id);
    }
    return undefined;
  }
}

function makesNothing({ control }: RecipeStep): boolean {
  return control === undefined || control.kind === 'gate';
}

/** Whether a step of a round that is over leaves its id to one of a later round. */
function followsOn({ fact, outcome }: Node): boolean {
  return fact.of !== undefined && outcome !== undefined && makesNothing(fact.step);
}
