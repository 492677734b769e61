import { rangeOf, RangeFault } from './arithmetic.js';
import { holds, type Condition } from './condition.js';
import type { Compose, Formula, Gate, Splice, Step, Where } from './formula.js';
import { inside } from './issues.js';
import type { Formulas } from './formulas.js';
import { LIMITS } from './limits.js';
import { namesIn, roundsIn, withLocals } from './placeholders.js';
import { bareStep } from './read-advice.js';
import { SharedNeeds } from './shared-needs.js';
import { copies, mapped, walk, without } from './step-tree.js';
import { valueFault } from './vars.js';

/** How texts get the values of variables while steps are put together. */
export interface Values {
  /** A text with all values that are known. */
  readonly resolve: (text: string) => string;
  readonly value: (name: string) => string | undefined;
  /** Required variables without a value, of which a preview may have some. */
  readonly missing: ReadonlySet<string>;
}

/** The ids of steps that stand together. */
type Here = Pick<ReadonlySet<string>, 'has'>;

/** Steps as conditions, loops and expansions leave them. */
export class Weaving {
  /** The steps that stand for one that is there no more: its last ones, or what it waited for. */
  readonly became = new Map<string, readonly string[]>();
  /** The first of the steps that stand in the place of one. What was left out is not here. */
  readonly starts = new Map<string, readonly string[]>();
  /** Expansions that were used: what they need of the compiler the formula needs too. */
  readonly used: { readonly formula: Formula; readonly where: Where }[] = [];
  /** What was left out of the steps that are prepared now, where nothing outside means it. */
  #left: Map<string, readonly string[]> | undefined;
  /** They are children of a check. */
  #isCheck = false;
  readonly #shared = new SharedNeeds();
  /** Those of `compose`: before a loop one stands before what the loop becomes. */
  readonly #gates: ReadonlyMap<string, Compose['gate'][number]>;

  constructor(
    readonly formulas: Formulas,
    readonly values: Values,
    gates: Compose['gate'],
  ) {
    this.#gates = new Map(gates.map((gate) => [gate.before, gate]));
  }

  /** Decides conditions and unrolls loops. */
  prepared(steps: readonly Step[]): Step[] {
    return steps.flatMap((step) => {
      if (step.condition !== undefined && !this.#holds(step.condition, step.where)) {
        this.#drop(step);
        return [];
      }
      const children = (): Step[] => (step.check === undefined ? this.prepared(step.children) : this.#apart(step.children, true));
      const whole = step.children.length === 0 ? step : { ...step, children: children() };
      if (whole.loop === undefined) return [whole];
      return whole.loop.until === undefined ? this.#unrolled(whole, whole.loop.body) : [this.#repeating(whole)];
    });
  }

  /** As `prepared`, for steps that know nothing of others with their ids: what is left out among them is left out of what they need here. */
  #apart(steps: readonly Step[], isCheck = false): Step[] {
    const around = [this.#left, this.#isCheck] as const;
    const left = new Map<string, readonly string[]>();
    [this.#left, this.#isCheck] = [left, isCheck];
    const made = this.prepared(steps);
    [this.#left, this.#isCheck] = around;
    return left.size === 0 ? made : without(made, left, this.formulas.budget);
  }

  /** Replaces every step that asks for an expansion. */
  expanded(steps: readonly Step[], depth = 0): Step[] {
    return mapped(steps, (step) => {
      const { loop } = step;
      if (loop?.until !== undefined) return [{ ...step, loop: { ...loop, body: this.expanded(loop.body, depth) } }];
      if (step.expand === undefined) return [step];
      const where = inside(step.where, 'expand');
      return this.replaced(step, { where, target: step.id, with: step.expand, vars: step.expandVars }, depth);
    });
  }

  /** An expansion by itself, as it would be for a step `main`: what only its users give a value stays a name. */
  alone(expansion: Formula): Step[] {
    const given = (name: string): string | undefined => (this.values.missing.has(name) ? `{{${name}}}` : this.values.value(name));
    const locals = (name: string): string | undefined =>
      /^target(\.id|\.title)?$/.test(name) ? 'main' : name === 'target.description' ? '' : given(name);
    return this.expanded(this.prepared(copies(expansion.template, { prefix: '', locals }, this.formulas.budget)), 1);
  }

  /** What an expansion puts in the place of a step. */
  replaced(target: Step, splice: Splice, depth = 0): Step[] {
    const made = this.instance(target, splice, depth);
    if (made.some(({ id }) => id === target.id))
      this.formulas.issues.error(
        splice.where,
        `a step of the expansion "${splice.with}" has the id of what it replaces: write {target}.<name>`,
      );
    else this.became.set(target.id, made.length === 0 ? target.needs : this.exits(made));
    if (target.gate === undefined) {
      this.starts.set(target.id, this.#entries(made));
      return this.entered(made, target.needs);
    }
    // Who waits for the step waits for its gate, even where nothing else is left of it.
    const gate = gateBefore(target.id, target.gate, target);
    if (made.length === 0) this.became.set(target.id, [gate.id]);
    this.starts.set(target.id, [gate.id]);
    return [gate, ...this.entered(made, [gate.id])];
  }

  /** The steps of an expansion for a target, before they wait for anything outside. */
  instance(target: Step, { where, with: name, vars }: Splice, depth: number): Step[] {
    const { issues, budget } = this.formulas;
    if (depth >= LIMITS.expansions) {
      issues.error(where, `has more than ${LIMITS.expansions} expansions inside each other`);
      return [];
    }
    const expansion = this.formulas.whole(name, where);
    if (expansion === undefined) return [];
    if (expansion.type !== 'expansion') {
      issues.error(where, `"${name}" is no expansion`);
      return [];
    }
    this.used.push({ formula: expansion, where });
    const given = this.#given(expansion, vars, where);
    const targets: Readonly<Record<string, string>> = {
      target: target.id,
      'target.id': target.id,
      'target.title': target.title,
      'target.description': target.description,
    };
    const locals = (local: string): string | undefined => (Object.hasOwn(targets, local) ? targets[local] : given.get(local));
    const { tags, metadata } = target;
    return this.expanded(this.#apart(copies(expansion.template, { prefix: '', locals, tags, metadata }, budget)), depth + 1);
  }

  /** Those of some steps that no other one of them waits for. */
  exits(steps: readonly Step[]): string[] {
    const owner = this.#owners(steps);
    const waitedFor = new Set<Step>();
    for (const step of steps)
      for (const inner of walk([step]))
        for (const need of inner.needs)
          for (const id of this.standsFor(need, owner)) if (owner.get(id) !== step) waitedFor.add(owner.get(id)!);
    return steps.filter((step) => !waitedFor.has(step)).map(({ id }) => id);
  }

  /** The steps that an id means in the end: one that is `here` means itself, though one of that id was left out elsewhere. */
  standsFor(id: string, here: Here = new Set(), seen = new Set<string>()): readonly string[] {
    const next = this.became.get(id);
    if (next === undefined || (here.has(id) && !this.starts.has(id))) return [id];
    if (seen.has(id)) return [];
    seen.add(id);
    return next.flatMap((each) => this.standsFor(each, here, seen));
  }

  /** The steps that begin what an id means in the end: none where it was left out, and there is none `here`. */
  startsOf(id: string, here: Here = new Set(), seen = new Set<string>()): readonly string[] {
    const next = this.starts.get(id);
    if (next === undefined) return this.became.has(id) && !here.has(id) ? [] : [id];
    if (seen.has(id)) return [];
    seen.add(id);
    return next.flatMap((each) => this.startsOf(each, here, seen));
  }

  /** The same steps, those that wait for none of the others waiting for these. */
  entered(steps: readonly Step[], needs: readonly string[]): Step[] {
    if (needs.length === 0) return [...steps];
    const entries = new Set(this.#entries(steps));
    this.formulas.budget.spend('edges', steps.length * needs.length);
    return steps.map((step) => (entries.has(step.id) ? { ...step, needs: [...new Set([...needs, ...step.needs])] } : step));
  }

  /** Those of some steps that wait for no other one of them. */
  #entries(steps: readonly Step[]): string[] {
    const owner = this.#owners(steps);
    const waits = (step: Step): boolean =>
      step.needs.some((need) => this.standsFor(need, owner).some((id) => owner.has(id) && owner.get(id) !== step));
    return steps.filter((step) => !waits(step)).map(({ id }) => id);
  }

  #owners(steps: readonly Step[]): Map<string, Step> {
    const owner = new Map<string, Step>();
    for (const step of steps) for (const { id } of walk([step])) owner.set(id, step);
    return owner;
  }

  /** Whoever waited for a step that is left out waits for what that waited for. */
  #drop(step: Step): void {
    for (const { id } of walk([step])) {
      this.#left?.set(id, step.needs);
      if (this.#left === undefined) this.became.set(id, step.needs);
      else this.became.set(id, this.#shared.with(id, step.needs, this.became.get(id), this.#isCheck));
    }
  }

  #unrolled(step: Step, body: readonly Step[]): Step[] {
    const { tags, metadata, loop } = step;
    const rounds: Step[][] = [];
    const opens = this.#gates.get(step.id);
    const gate = opens && gateBefore(step.id, opening(opens), { where: opens.where, needs: step.needs });
    let needs = gate === undefined ? step.needs : [gate.id];
    let first: readonly string[] = [];
    for (const [n, value] of this.#numbers(step).entries()) {
      const locals = (name: string): string | undefined => (name === loop!.var ? String(value) : undefined);
      const made = this.prepared(copies(body, { prefix: `${step.id}.iter${n + 1}.`, locals, tags, metadata }, this.formulas.budget));
      rounds.push(this.entered(made, needs));
      if (made.length > 0) needs = this.exits(made);
      if (first.length === 0) first = this.#entries(made);
    }
    this.became.set(step.id, needs);
    this.starts.set(step.id, gate === undefined ? first : [gate.id]);
    return [...(gate === undefined ? [] : [gate]), ...rounds.flat()];
  }

  #numbers({ loop, where }: Step): number[] {
    const { count, range } = loop!;
    const at = inside(where, range === undefined ? 'loop.count' : 'loop.range');
    let [start, end] = [1, count ?? 0];
    if (range !== undefined) {
      const unknown: string[] = [];
      const text = withLocals(range, (name) => {
        const value = this.values.value(name);
        if (value === undefined) unknown.push(name);
        return value;
      });
      // A preview that does not know how often shows it once.
      if (unknown.length > 0 && unknown.every((name) => this.values.missing.has(name))) return [1];
      try {
        ({ start, end } = rangeOf(this.values.resolve(text)));
      } catch (error) {
        if (!(error instanceof RangeFault)) throw error;
        this.formulas.issues.error(at, error.message);
        return [];
      }
    }
    if (end - start + 1 > LIMITS.rounds) {
      this.formulas.issues.error(at, `has more than ${LIMITS.rounds} rounds`);
      return [];
    }
    return Array.from({ length: Math.max(0, end - start + 1) }, (_, n) => start + n);
  }

  /** A loop whose rounds only the run can count: one round, with a placeholder for which. */
  #repeating(step: Step): Step {
    const loop = step.loop!;
    const locals = (name: string): string | undefined => (name === loop.var ? '{iteration}' : undefined);
    const body = this.prepared(copies(loop.body, { prefix: `${step.id}.iter{iteration}.`, locals }, this.formulas.budget));
    return { ...step, title: step.title === '' ? step.id : step.title, loop: { ...loop, body } };
  }

  #given(expansion: Formula, vars: Readonly<Record<string, string>>, where: Where): Map<string, string> {
    const { issues, budget } = this.formulas;
    const given = new Map<string, string>();
    for (const name of Object.keys(vars))
      if (!expansion.vars.has(name))
        issues.error(where, `"${expansion.name}" has no variable "${name}"`, [...expansion.vars.keys()].sort());
    for (const [name, def] of expansion.vars) {
      const text = Object.hasOwn(vars, name) ? vars[name]! : def.default;
      if (def.required && (text === undefined || text === '')) issues.error(where, `"${expansion.name}" requires a value for "${name}"`);
      const value = this.values.resolve(text ?? '');
      // What only the run will know cannot be compared; what it may be is said by whoever provides it.
      const open = namesIn(value).length > 0 || roundsIn(value).length > 0;
      const fault = open ? undefined : valueFault(def, value, budget);
      if (fault !== undefined) issues.error(where, `the value for "${name}" of "${expansion.name}" ${fault}`);
      if (open && (def.enum !== undefined || def.pattern !== undefined || def.type !== 'string'))
        issues.error(where, `the value for "${name}" of "${expansion.name}" is known only at run time and cannot be checked`);
      given.set(name, text ?? '');
    }
    return given;
  }

  /** Whether a step is there. Rounds and items come too late for it, so that nothing is decided by the words for them. */
  #holds(condition: Condition, where: Where): boolean {
    const late = [condition.left, condition.right ?? ''].flatMap((text) => roundsIn(this.#known(text)));
    if (late.length === 0) return holds(condition, (text) => this.#known(text));
    this.formulas.issues.error(inside(where, 'condition'), `asks for ${late.join(' and ')}, which is known only at run time`);
    return true;
  }

  /** Values for a condition: what has none is empty. */
  #known(text: string): string {
    return this.values.resolve(text).replace(/\{\{[A-Za-z_]\w*\}\}/g, '');
  }
}

/** How the ids of such gates begin: none that an author writes does. In a recipe they are `gate-…`, as those of other steps. */
export const GATE = 'gate:';

/** The gate of what stands in the place of a step: one, before all that begins there. */
function gateBefore(id: string, gate: Gate, { where, needs }: Pick<Step, 'where' | 'needs'>): Step {
  return bareStep(where, { id: `${GATE}${id}`, title: '', needs, gate, isGate: true });
}

/** What a gate of `compose` waits for. */
export function opening({ until }: Compose['gate'][number]): Gate {
  return { type: 'condition', id: '', until };
}
