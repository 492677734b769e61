import type { Advice, BondPoint, Compose, Formula, Splice, Step } from './formula.js';
import { fits } from './glob.js';
import { inside } from './issues.js';
import { withLocals } from './placeholders.js';
import { bareStep } from './read-advice.js';
import { lostToExpansion } from './read-steps.js';
import { copies, mapped, walk } from './step-tree.js';
import { opening, type Weaving } from './weaving.js';

/** What `compose` and `advice` of a formula make of its steps. */
export class Compositions {
  constructor(private readonly weaving: Weaving) {}

  /** Edges of branches, and gates that wait for conditions. */
  wired(steps: readonly Step[], { branch, gate }: Compose): Step[] {
    const { issues, budget } = this.weaving.formulas;
    const needs = new Map<string, Set<string>>();
    const wait = (id: string, on: Iterable<string>): void => {
      const all = needs.get(id) ?? new Set();
      for (const each of on) all.add(each);
      needs.set(id, all);
    };
    for (const { where, from, steps: written, join } of branch) {
      const middle = [...new Set(written)];
      for (const [key, ids] of [
        ['from', [from]],
        ['steps', middle],
        ['join', [join]],
      ] as const)
        for (const id of ids) if (!this.#known(steps, id)) issues.error(inside(where, key), `there is no step "${id}"`);
      for (const id of middle) wait(id, [from]);
      wait(join, middle);
    }
    // What was left out, or is a loop without rounds, is waited for by way of what it would wait for.
    for (const [id, more] of needs) {
      const left = this.weaving.became.get(id);
      if (left !== undefined && this.weaving.startsOf(id).length === 0) this.weaving.became.set(id, [...left, ...more]);
    }
    const gates = new Map<string, Compose['gate'][number]>();
    for (const each of gate) {
      const { where, before } = each;
      if (!this.#known(steps, before)) issues.error(inside(where, 'before'), `there is no step "${before}"`);
      if (gates.has(before)) issues.error(where, `the step "${before}" has a gate already`);
      gates.set(before, each);
    }
    // A loop is there no more: what is said of it is said of its gate, or of what begins its rounds.
    for (const [id, starts] of this.weaving.starts) {
      const more = needs.get(id) ?? new Set<string>();
      budget.spend('edges', starts.length * more.size);
      for (const start of starts) wait(start, more);
    }
    return mapped(steps, (step) => {
      const more = needs.get(step.id) ?? [];
      const opens = gates.get(step.id);
      if (opens !== undefined && step.gate !== undefined) issues.error(opens.where, `the step "${step.id}" has a gate already`);
      return [{ ...step, needs: [...new Set([...step.needs, ...more])], ...(opens === undefined ? {} : { gate: opening(opens) }) }];
    });
  }

  /** Steps before and after those that were there before. */
  advised(steps: readonly Step[], advices: readonly Advice[]): Step[] {
    return advices.reduce<Step[]>(
      (under, advice) => {
        const there = new Set(Array.from(named(steps), ({ id }) => id));
        const found = new Set([...there].filter((id) => this.#fits(advice.target, id)));
        if (found.size === 0 && !this.#wasLeftOut(advice.target))
          this.weaving.formulas.issues.error(inside(advice.where, 'target'), 'fits no step');
        return mapped(under, (step) => (found.has(step.id) ? this.#around(step, advice) : [step]));
      },
      [...steps],
    );
  }

  /** Expansions in the place of steps, or at bond points. */
  spliced(steps: readonly Step[], { expand, map, bondPoints }: Compose): Step[] {
    const { issues } = this.weaving.formulas;
    const points = new Map(bondPoints.map((point) => [point.id, point]));
    const replaced = new Set<string>();
    let woven = [...steps];
    for (const splice of expand) {
      const point = points.get(splice.target);
      if (point !== undefined) woven = this.#bonded(woven, point, splice);
      else if (this.#has(woven, splice.target)) {
        replaced.add(splice.target);
        woven = mapped(woven, (step) => (step.id === splice.target ? this.#replaced(step, splice) : [step]));
      } else if (replaced.has(splice.target))
        issues.error(inside(splice.where, 'target'), `the step "${splice.target}" has an expansion already`);
      else if (this.weaving.starts.has(splice.target))
        issues.error(inside(splice.where, 'target'), `the step "${splice.target}" has become other ones: name one of these`);
      else if (!this.weaving.became.has(splice.target))
        issues.error(inside(splice.where, 'target'), `there is no step or bond point "${splice.target}"`);
    }
    for (const splice of map) {
      const found = new Set([...named(woven)].filter(({ id }) => this.#fits(splice.target, id)).map(({ id }) => id));
      if (found.size === 0 && !this.#wasLeftOut(splice.target)) issues.error(inside(splice.where, 'select'), 'fits no step');
      woven = mapped(woven, (step) => (found.has(step.id) ? this.#replaced(step, splice) : [step]));
    }
    for (const { where, after, before } of bondPoints) {
      const id = after ?? before ?? '';
      if (!this.#known(woven, id)) issues.error(where, `there is no step "${id}"`);
    }
    return woven;
  }

  /** The advice of the aspects that a formula names. */
  aspects({ compose }: Formula): Advice[] {
    return compose.aspects.flatMap(({ where, name }) => {
      const aspect = this.weaving.formulas.whole(name, where);
      if (aspect === undefined) return [];
      if (aspect.type !== 'aspect') this.weaving.formulas.issues.error(where, `"${name}" is no aspect`);
      this.weaving.used.push({ formula: aspect, where });
      return [...aspect.advice];
    });
  }

  /** An expansion in the place of a step that says nothing beside it. */
  #replaced(step: Step, splice: Splice): Step[] {
    const lost = lostToExpansion(step);
    if (lost.length > 0)
      this.weaving.formulas.issues.error(
        splice.where,
        `the step "${step.id}" has ${lost.join(', ')}, which cannot stand beside an expansion`,
      );
    return this.weaving.replaced(step, splice);
  }

  /** Puts an expansion after a step, and before those that wait for it, or the other way round. */
  #bonded(steps: readonly Step[], { id, after, before, parallel, where }: BondPoint, splice: Splice): Step[] {
    const at = after ?? before!;
    const made = this.weaving.instance(bareStep(where, { id, title: id }), splice, 0);
    const here = new Set(Array.from(named(steps), ({ id: each }) => each));
    const starts = new Set(this.weaving.startsOf(at, here));
    const { budget } = this.weaving.formulas;
    // Nothing stands beside a step that was left out, and nothing waits for what is empty.
    if (starts.size === 0 || made.length === 0) return [...steps];
    const exits = this.weaving.exits(made);
    if (after !== undefined) {
      const last = this.weaving.standsFor(at, here).at(-1);
      return mapped(steps, (step) => {
        const moved = !parallel && step.needs.includes(at);
        if (moved) budget.spend('edges', exits.length);
        const needs = moved ? [...new Set(step.needs.flatMap((need) => (need === at ? exits : [need])))] : step.needs;
        return [{ ...step, needs }, ...(step.id === last ? this.weaving.entered(made, [at]) : [])];
      });
    }
    const [first] = starts;
    const waited = parallel ? new Set<string>() : this.#shared([...walk(steps)].filter(({ id: each }) => starts.has(each)));
    budget.spend('edges', starts.size * exits.length);
    return mapped(steps, (step) => {
      if (!starts.has(step.id)) return [step];
      const needs = [...new Set([...step.needs.filter((need) => !waited.has(need)), ...exits])];
      return [...(step.id === first ? this.weaving.entered(made, [...waited]) : []), { ...step, needs }];
    });
  }

  #around(target: Step, { before, after }: Advice): Step[] {
    const words: Readonly<Record<string, string>> = {
      'step.id': target.id,
      'step.title': target.title,
      'step.description': target.description,
    };
    const locals = (name: string): string | undefined => (Object.hasOwn(words, name) ? words[name] : undefined);
    const chain = (inserted: readonly Step[], from: readonly string[]): Step[] => {
      let needs = from;
      return copies(inserted, { prefix: '', locals }, this.weaving.formulas.budget).map((step, n) => {
        // Two targets would get one id.
        const id = withLocals(inserted[n]!.id, locals) === inserted[n]!.id ? `${target.id}.${step.id}` : step.id;
        const linked = { ...step, id, needs };
        needs = [id];
        return linked;
      });
    };
    const first = chain(before, target.needs);
    const needs = first.length === 0 ? target.needs : [first.at(-1)!.id];
    return [...first, { ...target, needs }, ...chain(after, [target.id])];
  }

  #has(steps: readonly Step[], id: string): boolean {
    for (const step of named(steps)) if (step.id === id) return true;
    return false;
  }

  #known(steps: readonly Step[], id: string): boolean {
    if (this.#has(steps, id) || !this.weaving.became.has(id)) return this.#has(steps, id);
    const starts = new Set(this.weaving.startsOf(id));
    if (starts.size === 0) return true;
    // What stands for a loop inside of what a run repeats is not here.
    for (const step of walk(steps)) if (starts.has(step.id)) return true;
    return false;
  }

  /** Whether a step that fits was there until a condition left it out. */
  #wasLeftOut(glob: string): boolean {
    const { became, starts } = this.weaving;
    return [...became.keys()].some((id) => !starts.has(id) && this.#fits(glob, id));
  }

  /** What all of some steps wait for. */
  #shared(steps: readonly Step[]): Set<string> {
    let all = new Set(steps[0]?.needs);
    for (const { needs } of steps) {
      if (all.size === 0) break;
      this.weaving.formulas.budget.spend('edges', needs.length);
      all = new Set(needs.filter((need) => all.has(need)));
    }
    return all;
  }

  #fits(glob: string, id: string): boolean {
    this.weaving.formulas.budget.spend('globs', (glob.length + 1) * (id.length + 1));
    return fits(glob, id);
  }
}

/** Steps that others may name: all but the gates of those that are there no more. */
function* named(steps: readonly Step[]): Generator<Step> {
  for (const step of walk(steps)) if (step.isGate !== true) yield step;
}
