import type { Step, Where } from './formula.js';
import type { Formulas } from './formulas.js';
import type { Frame } from './frames.js';
import { inside } from './issues.js';
import { LIMITS } from './limits.js';
import { MadeIds } from './made-ids.js';
import { GATE } from './weaving.js';
import type { Rounds } from './words.js';

/** Gives steps their full ids, each one of its own: beads and runs tell steps apart by nothing else. */
export class StepNames {
  /** Full ids of steps that have children, or get some. */
  readonly parents = new Set<string>();
  /** Whether two steps had one id, so that who waits for whom is not known. */
  doubled = false;
  /** Every full id, of gates and fan-outs too, and of what is repeated. */
  readonly #ids = new Map<string, Where>();
  readonly #made = new MadeIds();
  /** Full ids of steps that have none of their own, and are told. */
  readonly #shared = new Set<string>();

  constructor(private readonly formulas: Formulas) {}

  /** Full ids of a tree; a step that is repeated with its children names them itself. */
  name(steps: readonly Step[], path: string, frame: Frame): void {
    const { issues, budget } = this.formulas;
    for (const step of steps) {
      const { id, where } = step;
      const full = `${path}.${step.isGate === true ? id.replace(GATE, 'gate-') : id}`;
      const isTaken = this.take(full, where);
      this.#made.reserve(full, step);
      if (frame.ids.has(id)) this.double(step, id);
      else if (isTaken) this.double(step, full);
      else if (full.length > LIMITS.fullId || leftIn(id, frame.rounds))
        issues.error(
          inside(where, 'id'),
          `"${id.slice(0, LIMITS.id)}" is no id: a placeholder is left in it, or it is longer than ${LIMITS.fullId} characters`,
        );
      else this.#ownOfRounds(step, full, frame);
      frame.ids.set(id, full);
      if ((step.children.length > 0 && step.check === undefined) || step.onComplete !== undefined) this.parents.add(full);
      if (step.metadata['gc.kind'] === 'scope') frame.scopes.add(id);
      budget.spend('steps');
      if (step.check === undefined) this.name(step.children, full, frame);
    }
  }

  /** What is repeated has an id of its own each time: beads and runs tell steps apart by nothing else. */
  #ownOfRounds({ id, where }: Step, full: string, frame: Frame): void {
    for (let at: Frame | undefined = frame; at !== undefined; at = at.outer) {
      const { rounds } = at;
      if (rounds === 'none' || full.includes(rounds === 'item' ? '{index}' : '{iteration}')) continue;
      // What a loop or a check repeats has the id of that in its own, and that one is told.
      if (this.#shared.has(full.split(/\.iter(?:ation\.)?\{iteration\}/)[0]!)) return;
      this.#shared.add(full);
      const whose = rounds === 'item' ? 'of every item' : 'in every round';
      return this.formulas.issues.error(inside(where, 'id'), `"${id}" would be the id ${whose}: write {target}.${id}`);
    }
  }

  /** Whether another step has the id already. */
  take(full: string, where: Where): boolean {
    const isTaken = this.#ids.has(full);
    this.#ids.set(full, where);
    return isTaken;
  }

  /** Once all have theirs: none is one that the run gives to what it makes. */
  unlikeMade(): void {
    for (const [id, where] of this.#ids) {
      const maker = this.#made.makerOf(id);
      if (maker !== undefined)
        this.formulas.issues.error(inside(where, 'id'), `"${id}" is an id that the run gives to what it makes of "${maker}"`);
    }
  }

  /** Tells that another step has the id. */
  double({ where }: Step, id: string): void {
    this.doubled = true;
    this.formulas.issues.error(inside(where, 'id'), `there is another step "${id}"`);
  }
}

/** Whether braces are left in an id beside those that a run replaces. */
function leftIn(id: string, rounds: Rounds): boolean {
  return /[{}]/.test(rounds === 'none' ? id : id.replaceAll(/\{(?:iteration|index)\}/g, ''));
}
