import { advance } from './advance.js';
import type { Act } from './facts.js';
import type { StoredRun } from './control.repository.js';

type Close = Extract<Act, { do: 'close' }>;

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

  of(run: StoredRun, acts: readonly Act[]): readonly Act[] {
    const { beads, steps, edges } = run;
    if (steps.some(({ step, ended }) => ended !== undefined && this.#own.has(step.id))) return acts;
    const isMeant = (step: string): boolean => this.#beads.has(beads.get(step)!);
    if (this.ends) for (const { step, ended } of steps) if (ended === undefined && isMeant(step.id)) this.#own.add(step.id);
    // What ends as well begins nothing: it would be skipped at once.
    const ending = new Set(acts.flatMap((act) => (act.do === 'close' ? [act.step] : [])));
    const needs = Map.groupBy(edges, ({ to }) => to);
    const makers = new Map(steps.map(({ step, of }) => [step.id, of]));
    /** Left open here, with the controls that have made them: what waits for one neither begins nor ends. Acts come after those that they follow from. */
    const left = new Set<string>();
    const unfinished = new Set<string | undefined>();
    const isBehind = (step: string): boolean => (needs.get(step) ?? []).some(({ from }) => left.has(from));
    const waits = (step: string): boolean => isBehind(step) || unfinished.has(step);
    const gates = new Set(steps.flatMap(({ step }) => (step.kind === 'gate' ? [step.id] : [])));
    /** What follows where all that is left stays open; no gate counts another one, so it is asked anew only once more of the other steps are left. */
    let without: ReadonlySet<string> | undefined;
    // A condition may count any step.
    const opens = (gate: string): boolean => {
      without ??= new Set(advance(run, left).flatMap((act) => (act.do === 'close' ? [act.step] : [])));
      return without.has(gate);
    };
    const stays = ({ step, by }: Close): boolean => {
      if (by === undefined) return waits(step) || (gates.has(step) && left.size > 0 && !opens(step));
      // What another step has skipped is over, whatever it has made.
      return left.has(by) || (makers.get(by) === step ? waits(step) : isBehind(step));
    };
    const some = acts.filter((act) => {
      if (act.do === 'finish') return false;
      if (act.do === 'close') {
        if (this.#own.has(act.step) && !stays(act)) return true;
        left.add(act.step);
        if (!gates.has(act.step)) without = undefined;
        unfinished.add(makers.get(act.step));
        return false;
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
