import { controlMetadata, EMPTY } from './control-metadata.js';
import type { Step, Where } from './formula.js';
import { inside } from './issues.js';
import { LIMITS } from './limits.js';
import { MadeIds } from './made-ids.js';
import { cleaningRules } from './metadata.js';
import { bareStep } from './read-advice.js';
import type { Control, Fragment, RecipeEdge, RecipeStep } from './recipe.js';
import type { Until } from './until.js';
import { GATE, type Weaving } from './weaving.js';
import type { Rounds, Words } from './words.js';

export interface FlatOptions {
  readonly formula: string;
  readonly v2: boolean;
  /** What a drain does, told once for each. */
  readonly drain: (step: Step, full: string) => Control;
}

/** Where steps come to stand: the recipe itself, or what a run repeats. */
interface Frame {
  readonly rounds: Rounds;
  readonly ids: Map<string, string>;
  readonly scopes: Set<string>;
  readonly steps: RecipeStep[];
  readonly edges: Map<string, RecipeEdge>;
  readonly outer?: Frame;
  /** Steps outside that something inside waits for: then the whole waits for them. */
  readonly outside: Set<string>;
  /** Expansions around it. */
  readonly depth: number;
}

/** Makes a flat list of a tree of steps, with edges between full ids. */
export class Flattening {
  constructor(
    private readonly weaving: Weaving,
    private readonly words: Words,
    private readonly options: FlatOptions,
  ) {}

  recipe(steps: readonly Step[], root: string): Fragment {
    const frame = this.#frame('none', 0);
    this.#name(steps, this.options.formula, frame);
    for (const step of steps) this.#add(step, this.options.v2 ? undefined : root, [], frame);
    this.#unlikeMade();
    return { steps: frame.steps, edges: [...frame.edges.values()] };
  }

  #frame(rounds: Rounds, depth: number, outer?: Frame): Frame {
    return {
      rounds,
      ids: new Map(),
      scopes: new Set(),
      steps: [],
      edges: new Map(),
      outside: new Set(),
      depth,
      ...(outer === undefined ? {} : { outer }),
    };
  }

  /** Full ids of a tree; a step that is repeated with its children names them itself. */
  #name(steps: readonly Step[], path: string, frame: Frame): void {
    const { issues, budget } = this.weaving.formulas;
    for (const step of steps) {
      const { id, where } = step;
      const full = `${path}.${step.isGate === true ? id.replace(GATE, 'gate-') : id}`;
      const isTaken = this.#take(full, where);
      this.#made.reserve(full, step);
      if (frame.ids.has(id)) this.#doubles(step, id);
      else if (isTaken) this.#doubles(step, full);
      else if (full.length > LIMITS.fullId || leftIn(id, frame.rounds))
        issues.error(
          inside(where, 'id'),
          `"${id.slice(0, LIMITS.id)}" is no id: a placeholder is left in it, or it is longer than ${LIMITS.fullId} characters`,
        );
      else this.#ownOfRounds(step, full, frame);
      frame.ids.set(id, full);
      if ((step.children.length > 0 && step.check === undefined) || step.onComplete !== undefined) this.#parents.add(full);
      if (step.metadata['gc.kind'] === 'scope') frame.scopes.add(id);
      budget.spend('steps');
      if (step.check === undefined) this.#name(step.children, full, frame);
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
      return this.weaving.formulas.issues.error(inside(where, 'id'), `"${id}" would be the id ${whose}: write {target}.${id}`);
    }
  }

  /** Full ids of steps that have none of their own, and are told. */
  readonly #shared = new Set<string>();

  /** Where steps say what they wait for, by their full ids. */
  readonly needs = new Map<string, Where>();

  /** Full ids of steps that have children, or get some. */
  readonly #parents = new Set<string>();

  /** Whether two steps had one id, so that who waits for whom is not known. */
  doubled = false;

  /** Every full id, of gates and fan-outs too, and of what is repeated: beads and runs tell steps apart by nothing else. */
  readonly #ids = new Map<string, Where>();
  readonly #made = new MadeIds();

  /** Whether another step has the id already. */
  #take(full: string, where: Where): boolean {
    const isTaken = this.#ids.has(full);
    this.#ids.set(full, where);
    return isTaken;
  }

  #unlikeMade(): void {
    for (const [id, where] of this.#ids) {
      const maker = this.#made.makerOf(id);
      if (maker !== undefined)
        this.weaving.formulas.issues.error(inside(where, 'id'), `"${id}" is an id that the run gives to what it makes of "${maker}"`);
    }
  }

  #doubles({ where }: Step, id: string): void {
    this.doubled = true;
    this.weaving.formulas.issues.error(inside(where, 'id'), `there is another step "${id}"`);
  }

  #add(step: Step, parent: string | undefined, inherited: readonly string[], frame: Frame): void {
    const full = frame.ids.get(step.id)!;
    if (!this.options.v2) this.#onlyForGraphs(step);
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

  #onlyForGraphs(step: Step): void {
    const used = (['check', 'retry', 'onComplete', 'drain'] as const)
      .filter((key) => step[key] !== undefined)
      .map((key) => (key === 'onComplete' ? 'on_complete' : key));
    const others = [
      ...(step.loop?.until === undefined ? [] : ['loop.until']),
      ...(step.gate?.type === 'condition' ? ['compose.gate'] : []),
      ...(step.metadata['gc.kind'] !== undefined || step.metadata['gc.scope_ref'] !== undefined ? ['metadata'] : []),
    ];
    for (const key of [...used, ...others])
      this.weaving.formulas.issues.error(
        key.startsWith('compose') ? step.where : inside(step.where, key),
        'is for formulas that declare [requires] formula_compiler = ">=2.0.0"',
      );
  }

  #needs(step: Step, frame: Frame): string[] {
    return step.needs.flatMap((need) =>
      this.weaving.standsFor(need, seenFrom(frame)).flatMap((id) => {
        const full = this.#find(id, frame);
        if (full === undefined)
          this.weaving.formulas.issues.error(inside(step.where, 'needs'), `there is no step "${id.slice(0, LIMITS.id)}"`);
        return full === undefined ? [] : [full];
      }),
    );
  }

  /** The full id of a step in this frame; one of a frame around it is waited for by the whole. */
  #find(id: string, frame: Frame): string | undefined {
    const own = frame.ids.get(id);
    if (own !== undefined) return own;
    for (let at = frame.outer; at !== undefined; at = at.outer) {
      const full = at.ids.get(id);
      if (full === undefined) continue;
      frame.outside.add(full);
      return full;
    }
    return undefined;
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
      const from = this.#find(each, frame);
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
    if (this.#take(full, step.where)) this.#doubles(step, full);
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
    if (of === undefined || !this.#parents.has(of))
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
        this.#parents.add(above);
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
    const frame = this.#frame(rounds, depth, outer);
    this.#name(steps, path, frame);
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
    if (this.#take(id, step.where)) this.#doubles(step, id);
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

/** The ids that steps of a frame may wait for. */
function seenFrom(frame: Frame): Pick<ReadonlySet<string>, 'has'> {
  const has = (id: string, at: Frame | undefined): boolean => at !== undefined && (at.ids.has(id) || has(id, at.outer));
  return { has: (id) => has(id, frame) };
}

/** The full id without the step's own. */
function pathOf({ id }: Step, frame: Frame): string {
  return frame.ids.get(id)!.slice(0, -id.length - 1);
}

function fragmentOf({ steps, edges }: Frame): Fragment {
  return { steps, edges: [...edges.values()] };
}

/** Whether braces are left in an id beside those that a run replaces. */
function leftIn(id: string, rounds: Rounds): boolean {
  return /[{}]/.test(rounds === 'none' ? id : id.replaceAll(/\{(?:iteration|index)\}/g, ''));
}
