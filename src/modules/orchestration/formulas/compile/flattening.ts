import { controlMetadata, EMPTY, onlyForGraphs } from './control-metadata.js';
import type { Step, Where } from './formula.js';
import { findIn, fragmentOf, newFrame, pathOf, seenFrom, type Frame } from './frames.js';
import { inside } from './issues.js';
import { LIMITS } from './limits.js';
import { cleaningRules } from './metadata.js';
import { bareStep } from './read-advice.js';
import type { Control, Fragment, RecipeEdge, RecipeStep } from './recipe.js';
import { StepNames } from './step-names.js';
import type { Until } from './until.js';
import type { Weaving } from './weaving.js';
import type { Rounds, Words } from './words.js';

export interface FlatOptions {
  readonly formula: string;
  readonly v2: boolean;
  /** What a drain does, told once for each. */
  readonly drain: (step: Step, full: string) => Control;
}

/** Makes a flat list of a tree of steps, with edges between full ids. */
export class Flattening {
  readonly #names: StepNames;

  constructor(
    private readonly weaving: Weaving,
    private readonly words: Words,
    private readonly options: FlatOptions,
  ) {
    this.#names = new StepNames(weaving.formulas);
  }

  recipe(steps: readonly Step[], root: string): Fragment {
    const frame = newFrame('none', 0);
    this.#names.name(steps, this.options.formula, frame);
    for (const step of steps) this.#add(step, this.options.v2 ? undefined : root, [], frame);
    this.#names.unlikeMade();
    return { steps: frame.steps, edges: [...frame.edges.values()] };
  }

  /** Where steps say what they wait for, by their full ids. */
  readonly needs = new Map<string, Where>();

  /** Whether two steps had one id, so that who waits for whom is not known. */
  get doubled(): boolean {
    return this.#names.doubled;
  }

  #add(step: Step, parent: string | undefined, inherited: readonly string[], frame: Frame): void {
    const full = frame.ids.get(step.id)!;
    if (!this.options.v2) onlyForGraphs(step, this.weaving.formulas.issues);
    if (step.needs.length > 0) this.needs.set(full, inside(step.where, 'needs'));
    const needs = [...new Set([...inherited, ...this.#needs(step, frame)])];
    if (step.isGate === true) return this.#gate(step, full, parent, needs, frame);
    const gate = step.gate && this.#gateId(step, frame);
    if (gate !== undefined) this.#gate(step, gate, parent, needs, frame);
    const waited = gate === undefined ? needs : [...needs, gate];
    if (step.waitsFor !== undefined) this.#waitsFor(step, step.waitsFor, full, frame);
    const control = this.#control(step, full, frame);
    for (const from of waited) this.#edge(from, full, 'blocks', frame);
    frame.steps.push(this.#step(step, full, parent, control, frame));
    this.#joinScope(step, full, frame);
    if (step.check === undefined)
      for (const child of step.children) {
        this.#add(child, this.options.v2 ? undefined : full, waited, frame);
        if (this.options.v2) this.#edge(frame.ids.get(child.id)!, full, 'blocks', frame);
      }
    if (step.onComplete !== undefined) this.#fanout(step, full, parent, frame);
  }

  #needs(step: Step, frame: Frame): string[] {
    return step.needs.flatMap((need) =>
      this.weaving.standsFor(need, seenFrom(frame)).flatMap((id) => {
        const full = findIn(id, frame);
        if (full === undefined)
          this.weaving.formulas.issues.error(inside(step.where, 'needs'), `there is no step "${id.slice(0, LIMITS.id)}"`);
        return full === undefined ? [] : [full];
      }),
    );
  }

  #edge(from: string, to: string, kind: RecipeEdge['kind'], frame: Frame): void {
    if (frame.outside.has(from)) return;
    const key = `${from}\0${to}`;
    if (frame.edges.has(key)) return;
    this.weaving.formulas.budget.spend('edges');
    this.weaving.formulas.budget.spend('characters', from.length + to.length);
    frame.edges.set(key, { from, to, kind });
  }

  #waitsFor(step: Step, id: string, full: string, frame: Frame): void {
    // A step that was left out, and waited for nothing, stands for none: nothing is left to wait for.
    for (const each of this.weaving.standsFor(id, seenFrom(frame))) {
      const from = findIn(each, frame);
      if (from === undefined) {
        this.weaving.formulas.issues.error(inside(step.where, 'waits_for'), `there is no step "${id}"`);
        continue;
      }
      this.#edge(from, full, 'waits-for', frame);
      // What a step fans out into are its children too.
      if (this.#fansOut.has(from)) this.#edge(`${from}-fanout`, full, 'waits-for', frame);
      this.#waited.push({ from, full, frame });
    }
  }

  readonly #fansOut = new Set<string>();
  readonly #waited: { from: string; full: string; frame: Frame }[] = [];

  #gateId(step: Step, frame: Frame): string {
    const full = `${pathOf(step, frame)}.gate-${step.id}`;
    if (this.#names.take(full, step.where)) this.#names.double(step, full);
    return full;
  }

  #gate(step: Step, full: string, parent: string | undefined, needs: readonly string[], frame: Frame): void {
    const { type, id, timeout, until } = step.gate!;
    const { words } = this;
    const name = words.of(id, step.where, 'gate.id', true, frame.rounds);
    const timeout_ms = words.duration(timeout, step.where, 'gate.timeout');
    this.weaving.formulas.budget.spend('steps');
    for (const from of needs) this.#edge(from, full, 'blocks', frame);
    frame.steps.push({
      ...EMPTY,
      id: full,
      ...(parent === undefined ? {} : { parent }),
      kind: 'gate',
      type: 'gate',
      title: `Gate: ${type}${name === '' ? '' : ` ${name}`}`,
      metadata: {},
      control: {
        kind: 'gate',
        type,
        id: name,
        ...(timeout_ms === undefined ? {} : { timeout_ms }),
        ...(until === undefined ? {} : { until: this.#aboutSteps(until, step, frame, frame.rounds) }),
      },
    });
  }

  /** A condition with the full id of the step that it is about, and with the values of variables. */
  #aboutSteps(until: Until, step: Step, frame: Frame, rounds: Rounds): Until {
    if (until.subject === 'output') return { ...until, value: this.words.of(until.value, step.where, 'loop.until', true, rounds) };
    if (until.subject !== 'children') return until;
    const of = this.#above(until.of, frame) ?? (frame.outer && this.#above(until.of, frame.outer));
    if (of === undefined || !this.#names.parents.has(of))
      this.weaving.formulas.issues.error(
        step.where,
        `its condition asks for children of "${until.of}", which ${of === undefined ? 'is no step' : 'has none'}`,
      );
    return { ...until, of: of ?? until.of };
  }

  /** The full id below which the children of a step stand, also of one that its rounds, or an expansion, have replaced. */
  #above(id: string, frame: Frame): string | undefined {
    if (frame.ids.has(id) || !this.weaving.became.has(id)) return frame.ids.get(id);
    for (const [made, full] of frame.ids)
      if (made.startsWith(`${id}.`)) {
        const above = full.slice(0, full.length - made.length + id.length);
        this.#names.parents.add(above);
        return above;
      }
    return undefined;
  }

  #control(step: Step, full: string, frame: Frame): Control | undefined {
    const { words } = this;
    if (step.retry !== undefined) return { kind: 'retry', ...step.retry };
    if (step.drain !== undefined) return this.options.drain(step, full);
    if (step.loop?.until !== undefined) {
      const path = pathOf(step, frame);
      const inner = this.#fragment(step.loop.body, path, 'iteration', frame, full);
      // What a condition leaves out for want of a value may be there with one.
      if (this.weaving.values.missing.size === 0 && inner.steps.every(({ kind }) => kind === 'scope'))
        this.weaving.formulas.issues.error(
          inside(step.where, 'loop.body'),
          'has nothing for anybody to do: its rounds would end by themselves',
        );
      return {
        kind: 'loop',
        until: this.#aboutSteps(step.loop.until, step, inner, frame.rounds),
        max: step.loop.max!,
        body: fragmentOf(inner),
      };
    }
    if (step.check === undefined) return undefined;
    const { path, timeout, max_attempts } = step.check;
    const script = this.weaving.formulas.library.beside(step.where.file, path);
    if (script === undefined)
      this.weaving.formulas.issues.error(inside(step.where, 'check.check.path'), 'there is no such file in the city or its packs');
    const script_timeout_ms = words.duration(timeout, step.where, 'check.check.timeout', LIMITS.attempt);
    const step_timeout_ms = words.duration(step.timeout, step.where, 'timeout', LIMITS.attempt);
    const body =
      step.children.length === 0 ? undefined : this.#fragment(step.children, `${full}.iteration.{iteration}`, 'iteration', frame, full);
    return {
      kind: 'check',
      max_attempts,
      script: { file: script?.file ?? path, sha256: script?.sha256 ?? '' },
      ...(script_timeout_ms === undefined ? {} : { script_timeout_ms }),
      ...(step_timeout_ms === undefined ? {} : { step_timeout_ms }),
      ...(body === undefined ? {} : { body: fragmentOf(body) }),
    };
  }

  /** Steps that a run repeats; the step at `full` waits for what they wait for outside. */
  #fragment(steps: readonly Step[], path: string, rounds: Rounds, outer: Frame, full: string, depth = outer.depth): Frame {
    for (let at: Frame | undefined = outer; at !== undefined; at = at.outer)
      if (at.rounds === rounds && steps.length > 0)
        this.weaving.formulas.issues.error(
          inside(steps[0]!.where, 'id'),
          `is repeated inside of what is repeated the same way: ${rounds === 'item' ? 'items have no items' : 'rounds have no rounds'} of their own`,
        );
    const frame = newFrame(rounds, depth, outer);
    this.#names.name(steps, path, frame);
    for (const step of steps) this.#add(step, undefined, [], frame);
    const around = new Set(outer.ids.values());
    for (const from of frame.outside) {
      if (around.has(from)) this.#edge(from, full, 'blocks', outer);
      else outer.outside.add(from);
    }
    return frame;
  }

  #fanout(step: Step, full: string, parent: string | undefined, frame: Frame): void {
    const { bond, for_each, sequential, vars } = step.onComplete!;
    const where = inside(step.where, 'on_complete.bond');
    const id = `${full}-fanout`;
    if (this.#names.take(id, step.where)) this.#names.double(step, id);
    this.#fansOut.add(full);
    for (const waited of this.#waited) if (waited.from === full) this.#edge(id, waited.full, 'waits-for', waited.frame);
    const target = bareStep(step.where, { id: `${step.id}.item.{index}`, title: step.title, description: '' });
    const made = bond === '' ? [] : this.weaving.instance(target, { where, target: step.id, with: bond, vars }, frame.depth);
    const path = pathOf(step, frame);
    const inner = this.#fragment(made, path, 'item', frame, id, frame.depth + 1);
    this.weaving.formulas.budget.spend('steps');
    this.#edge(full, id, 'blocks', frame);
    frame.steps.push({
      ...EMPTY,
      id,
      ...(parent === undefined ? {} : { parent }),
      kind: 'fanout',
      type: 'task',
      title: `Each of ${for_each}: ${bond}`,
      metadata: { 'gc.kind': 'fanout', 'gc.for_each': for_each, 'gc.bond': bond, 'gc.fanout_mode': sequential ? 'sequential' : 'parallel' },
      control: { kind: 'fanout', of: full, for_each, sequential, body: fragmentOf(inner) },
    });
  }

  #joinScope(step: Step, full: string, frame: Frame): void {
    const ref = step.metadata['gc.scope_ref'];
    if (ref === undefined) return;
    const body = frame.ids.get(ref);
    if (body === undefined || !frame.scopes.has(ref))
      this.weaving.formulas.issues.error(
        inside(step.where, 'metadata."gc.scope_ref"'),
        `there is no scope "${ref.slice(0, LIMITS.id)}" here`,
      );
    // What takes a scope down waits for its end, whether or not it says so.
    else if (step.metadata['gc.scope_role'] === 'teardown') this.#edge(body, full, 'blocks', frame);
    else this.#edge(full, body, 'blocks', frame);
  }

  #step(step: Step, id: string, parent: string | undefined, control: Control | undefined, frame: Frame): RecipeStep {
    const { words } = this;
    const { where } = step;
    const text = (value: string, key: string, strict = false): string => words.of(value, where, key, strict, frame.rounds);
    const written = Object.entries(step.metadata).map(([key, value]) => [key, text(value, `metadata.${JSON.stringify(key)}`)] as const);
    const ref = step.metadata['gc.scope_ref'];
    const body = ref === undefined ? undefined : frame.ids.get(ref);
    const title = text(step.title, 'title', true);
    if (title.trim() === '' && step.title !== '')
      this.weaving.formulas.issues.error(inside(where, 'title'), 'is empty once its variables are replaced');
    const isParent = step.children.length > 0 && step.check === undefined;
    if (control !== undefined) cleaningRules(step, control.kind, this.weaving.formulas.issues);
    const kind = control?.kind ?? (step.metadata['gc.kind'] as 'scope' | 'cleanup' | undefined) ?? (isParent ? 'epic' : 'task');
    const type = step.type === '' ? 'task' : text(step.type, 'type', true);
    return {
      id,
      ...(parent === undefined ? {} : { parent }),
      kind,
      type: this.options.v2 ? type : isParent ? 'epic' : type === 'task' ? 'step' : type,
      title,
      description: text(step.description, 'description'),
      notes: text(step.notes, 'notes'),
      ...(step.priority === undefined ? {} : { priority: step.priority }),
      labels: [...new Set(step.tags.map((tag) => text(tag, 'tags', true)))],
      metadata: {
        ...Object.fromEntries(written),
        ...(body === undefined ? {} : { 'gc.scope_ref': body }),
        ...controlMetadata(control, step, (written) => text(written, 'timeout')),
        ...(step.onComplete === undefined ? {} : { 'gc.output_json_required': 'true' }),
      },
      assignee: text(step.assignee, 'assignee', true),
      ...(body === undefined
        ? {}
        : { scope: { ref: body, role: step.metadata['gc.scope_role'] ?? 'member', abort: step.metadata['gc.on_fail'] === 'abort_scope' } }),
      ...(control === undefined ? {} : { control }),
    };
  }
}
