import type { Act } from './facts.js';
import type { StoredRun } from './control.repository.js';

/**
 * Of what follows in a run, only what some of its steps begin, and what comes of that. A person has opened other steps again that the
 * whole run would close at once, by what they have found before. Once a step ends by this the whole run goes on, as it does after any.
 */
export class Narrow {
  readonly #beads: ReadonlySet<string>;
  /** Steps that are over, or not, by what has happened here alone. */
  readonly #own = new Set<string>();

  /** @param ends whether these steps may also end */
  constructor(
    beads: readonly string[],
    private readonly ends: boolean,
  ) {
    this.#beads = new Set(beads);
  }

  of({ beads, steps, edges }: StoredRun, acts: readonly Act[]): readonly Act[] {
    if (steps.some(({ step, ended }) => ended !== undefined && this.#own.has(step.id))) return acts;
    const isMeant = (step: string): boolean => this.#beads.has(beads.get(step)!);
    if (this.ends) for (const { step, ended } of steps) if (ended === undefined && isMeant(step.id)) this.#own.add(step.id);
    // What ends as well begins nothing: it would be skipped at once.
    const ending = new Set(acts.flatMap((act) => (act.do === 'close' ? [act.step] : [])));
    const needs = Map.groupBy(edges, ({ to }) => to);
    /** Left open here: what waits for it neither begins nor ends. Acts come after those that they follow from. */
    const left = new Set<string>();
    const waits = (step: string): boolean => (needs.get(step) ?? []).some(({ from }) => left.has(from));
    const some = acts.filter((act) => {
      if (act.do === 'finish') return false;
      if (act.do === 'close') {
        const ends = this.#own.has(act.step) && !waits(act.step) && !left.has(act.by ?? '');
        if (!ends) left.add(act.step);
        return ends;
      }
      if (waits(act.control)) return false;
      if (act.do === 'settle') return this.#own.has(act.control);
      return !ending.has(act.control) && (this.#own.has(act.control) || isMeant(act.control));
    });
    for (const act of some) {
      if (act.do !== 'add' && act.do !== 'drain') continue;
      this.#own.add(act.control);
      if (act.do === 'add') for (const { step } of act.fragment.steps) this.#own.add(step.id);
    }
    return some;
  }
}
