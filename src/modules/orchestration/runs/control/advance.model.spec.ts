import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DEEP } from '../../../../../test/support/depth.js';
import type { Control, Fragment, RecipeEdge, RecipeStep } from '../../formulas/compile/recipe.js';
import { advance } from './advance.js';
import type { Act, Outcome, StepFact } from './facts.js';

/** What a step is to do, and how it goes: in the model, and as the run is told. */
interface Plan {
  readonly kind:
    | 'task'
    | 'retry'
    | 'soft'
    | 'check'
    | 'body'
    | 'loop'
    | 'fan'
    | 'chain'
    | 'drain'
    | 'lane'
    | 'cleanup'
    | 'member'
    | 'abort';
  readonly needs: readonly number[];
  /** How each attempt, round or item ends; the last one stands for all that follow. */
  readonly ends: readonly ('pass' | 'fail' | 'transient' | 'none')[];
  /** What the script of a check says of each round. */
  readonly script: readonly boolean[];
}

const ends = fc.array(fc.constantFrom('pass' as const, 'pass' as const, 'fail' as const, 'transient' as const, 'none' as const), {
  minLength: 1,
  maxLength: 4,
});
const plan: fc.Arbitrary<Plan> = fc.record({
  kind: fc.constantFrom(
    'task',
    'task',
    'retry',
    'soft',
    'check',
    'body',
    'loop',
    'fan',
    'chain',
    'drain',
    'lane',
    'cleanup',
    'member',
    'abort',
  ),
  needs: fc.uniqueArray(fc.nat(9), { maxLength: 3 }),
  ends,
  script: fc.array(fc.boolean(), { minLength: 1, maxLength: 3 }),
});

const MAX = 3;
const nth = <T>(list: readonly T[], n: number): T => list[Math.min(n, list.length - 1)]!;
const bare = (id: string, rest: Partial<RecipeStep> = {}): RecipeStep => ({
  ...{ id, kind: 'task', type: 'task', title: id, description: '', notes: '', labels: [], metadata: {}, assignee: '' },
  ...rest,
});
const body = (id: string, word: string): Fragment => ({
  steps: [bare(`${id}.${word}.a`, { title: 'Do {index}{iteration}' }), bare(`${id}.${word}.b`)],
  edges: [{ from: `${id}.${word}.a`, to: `${id}.${word}.b`, kind: 'blocks' }],
});

/** Members of the one scope of a graph stand before it. */
const inScope = ({ kind }: Plan): boolean => kind === 'member' || kind === 'abort';

function control(id: string, { kind }: Plan): Control | undefined {
  switch (kind) {
    case 'retry':
    case 'soft':
      return { kind: 'retry', max_attempts: MAX, on_exhausted: kind === 'soft' ? 'soft_fail' : 'hard_fail' };
    case 'check':
    case 'body':
      return {
        kind: 'check',
        max_attempts: MAX,
        script: { file: 's', sha256: '' },
        ...(kind === 'body' ? { body: body(id, '{iteration}') } : {}),
      };
    case 'loop':
      return { kind: 'loop', until: { subject: 'status', operator: '==', value: 'completed' }, max: MAX, body: body(id, '{iteration}') };
    case 'fan':
    case 'chain':
      return { kind: 'fanout', of: `${id}.source`, for_each: 'output.list', sequential: kind === 'chain', body: body(id, '{index}') };
    case 'drain':
    case 'lane':
      return {
        ...{ kind: 'drain', formula: 'i', member_access: 'read', max_units: 9, prefix: `${id}.unit.{unit}.`, at_run: ['issue'] },
        context: kind === 'lane' ? 'shared' : 'separate',
        on_item_failure: kind === 'lane' ? 'skip_remaining' : 'continue',
        body: withCleanup(body(id, 'unit.{unit}'), `${id}.unit.{unit}`),
      };
    default:
      return undefined;
  }
}

/** With a step that is done whatever becomes of the others. */
function withCleanup({ steps, edges }: Fragment, path: string): Fragment {
  const tidy = bare(`${path}.tidy`, { kind: 'cleanup', title: 'Tidy {{issue}}' });
  return { steps: [...steps, tidy], edges: [...edges, { from: `${path}.b`, to: tidy.id, kind: 'blocks' }] };
}

/** The run that plans are about: a list of steps, who waits for whom, and a scope around its members. */
class Simulated {
  readonly steps: StepFact[] = [];
  readonly edges: RecipeEdge[] = [];
  finished: Act | undefined;
  /** How units of drains have ended, in the order in which it was told. */
  readonly settled = new Map<string, string>();
  readonly #plans: readonly Plan[];

  constructor(plans: readonly Plan[]) {
    this.#plans = plans;
    const members = plans.flatMap((each, n) => (inScope(each) ? [n] : []));
    plans.forEach((each, n) => {
      if (each.kind === 'fan' || each.kind === 'chain') this.#put(bare(`s${n}.source`));
      const given = control(`s${n}`, each);
      this.#put(
        bare(`s${n}`, {
          ...(given === undefined ? {} : { control: given, kind: given.kind }),
          ...(each.kind === 'cleanup' ? { kind: 'cleanup' } : {}),
          ...(inScope(each) ? { scope: { ref: 'scope', role: 'member', abort: each.kind === 'abort' } } : {}),
        }),
      );
      if (given?.kind === 'fanout') this.#edge(`s${n}.source`, `s${n}`);
      for (const need of needsOf(plans, n)) this.#edge(`s${need}`, given?.kind === 'fanout' ? `s${n}.source` : `s${n}`);
    });
    if (members.length === 0) return;
    this.#put(bare('scope', { kind: 'scope' }));
    for (const n of members) this.#edge(`s${n}`, 'scope');
    this.#put(bare('after'));
    this.#edge('scope', 'after');
  }

  #put(step: RecipeStep, rest: Partial<StepFact> = {}): void {
    if (this.find(step.id) !== undefined) throw new Error(`${step.id} is made twice`);
    this.steps.push({ step, started: false, ...rest });
  }

  #edge(from: string, to: string): void {
    this.edges.push({ from, to, kind: 'blocks' });
  }

  find(id: string): StepFact | undefined {
    return this.steps.find(({ step }) => step.id === id);
  }

  #change(id: string, rest: Partial<StepFact>): void {
    const index = this.steps.findIndex(({ step }) => step.id === id);
    this.steps[index] = { ...this.steps[index]!, ...rest };
  }

  /** Does what follows until nothing does. */
  settle(): void {
    for (let acts = advance(this); acts.length > 0 && this.finished === undefined; acts = advance(this))
      for (const act of acts) this.#apply(act);
  }

  #apply(act: Act): void {
    if (this.finished !== undefined) throw new Error(`${act.do} after the end`);
    if (act.do === 'finish') this.finished = act;
    else if (act.do === 'close') {
      if (this.find(act.step)!.ended !== undefined) throw new Error(`${act.step} is closed twice`);
      this.#change(act.step, { ended: { word: act.outcome, ...(act.output === undefined ? {} : { output: act.output }) } });
    } else if (act.do === 'add') {
      for (const { step, round } of act.fragment.steps) this.#put(step, { of: act.control, round });
      this.edges.push(...act.fragment.edges);
    } else if (act.do === 'script') {
      const { script } = this.#plans[Number(act.control.slice(1))]!;
      this.#change(act.control, { verdict: { round: act.round, passed: nth(script, act.round - 1), reason: 'not green' } });
    } else if (act.do === 'drain') {
      if (this.find(act.control)!.units !== undefined) throw new Error(`${act.control} takes its members twice`);
      const { ends: members } = this.#plans[Number(act.control.slice(1))]!;
      this.#change(act.control, { units: members.map((_, index) => ({ n: index + 1, member: `m-${index + 1}` })) });
    } else if (act.do === 'settle') {
      const unit = `${act.control}.${act.unit}`;
      if (this.settled.has(unit)) throw new Error(`${unit} ends twice`);
      this.settled.set(unit, act.outcome);
      const units = this.find(act.control)!.units!.map((each) => (each.n === act.unit ? { ...each, outcome: act.outcome } : each));
      this.#change(act.control, { units });
    }
  }

  /** What an agent could claim. */
  ready(): StepFact[] {
    return this.steps.filter(({ step, ended }) => {
      if (ended !== undefined || step.control !== undefined || step.kind === 'scope') return false;
      return this.edges.every(({ from, to }) => to !== step.id || this.find(from)!.ended !== undefined);
    });
  }

  /** An agent does a step. */
  work(fact: StepFact): void {
    const { id } = fact.step;
    const plan = this.#plans[Number(/^s(\d+)/.exec(id)?.[1] ?? -1)];
    if (id.endsWith('.source'))
      return this.#change(id, { ended: { output: JSON.stringify({ list: [1, 2, 3].slice(0, plan!.ends.length) }) } });
    // In a round of two steps it is the first one that may go wrong.
    const end = plan === undefined || id.endsWith('.b') || id.endsWith('.tidy') ? 'pass' : nth(plan.ends, (fact.round ?? 1) - 1);
    this.#change(id, { ended: ENDED[end] });
  }

  outcome(id: string): string | undefined {
    const ended = this.find(id)?.ended;
    return ended === undefined ? undefined : (ended.word ?? 'pass');
  }
}

const ENDED = {
  pass: { word: 'pass' },
  fail: { word: 'fail', failure: 'hard' },
  transient: { word: 'fail', failure: 'transient' },
  none: {},
} as const;

/** Steps wait for earlier ones; members of the scope only for each other, so that they are not skipped for what is outside. */
function needsOf(plans: readonly Plan[], n: number): number[] {
  return plans[n]!.needs.filter((need) => need < n && inScope(plans[need]!) === inScope(plans[n]!));
}

/** How a plan ends, told without a run: what it makes, in how many rounds. */
function alone({ kind, ends, script }: Plan): { outcome: Outcome; rounds: number } {
  const bad = (n: number): boolean => nth(ends, n) === 'fail' || nth(ends, n) === 'transient';
  switch (kind) {
    case 'retry':
    case 'soft': {
      for (let n = 0; n < MAX; n++) {
        if (nth(ends, n) === 'pass') return { outcome: 'pass', rounds: n + 1 };
        if (nth(ends, n) === 'fail') return { outcome: 'fail', rounds: n + 1 };
      }
      return { outcome: kind === 'soft' ? 'pass' : 'fail', rounds: MAX };
    }
    case 'check':
    case 'body':
      for (let n = 0; n < MAX; n++) {
        if (nth(ends, n) === 'fail') return { outcome: 'fail', rounds: n + 1 };
        if (!bad(n) && nth(script, n)) return { outcome: 'pass', rounds: n + 1 };
      }
      return { outcome: 'fail', rounds: MAX };
    case 'loop':
      for (let n = 0; n < MAX; n++) {
        if (!bad(n)) return { outcome: 'pass', rounds: n + 1 };
        if (nth(ends, n) === 'fail') return { outcome: 'fail', rounds: n + 1 };
      }
      return { outcome: 'fail', rounds: MAX };
    case 'fan':
    case 'chain': {
      const items = [0, 1, 2].slice(0, ends.length);
      return { outcome: items.some(bad) ? 'fail' : 'pass', rounds: items.length };
    }
    case 'drain':
    case 'lane':
      return { outcome: unitsOf(kind, ends).includes('fail') ? 'fail' : 'pass', rounds: ends.length };
    default:
      return { outcome: bad(0) ? 'fail' : 'pass', rounds: 0 };
  }
}

/** How the units of a drain end: one each, and in a lane none after one that has failed. */
function unitsOf(kind: Plan['kind'], ends: Plan['ends']): Outcome[] {
  const failed = ends.map((end): Outcome => (end === 'fail' || end === 'transient' ? 'fail' : 'pass'));
  const first = failed.indexOf('fail');
  return failed.map((outcome, n) => (kind === 'lane' && first !== -1 && n > first ? 'skipped' : outcome));
}

function model(plans: readonly Plan[]): { outcomes: Outcome[]; verdict: 'pass' | 'fail' } {
  const outcomes: Outcome[] = [];
  plans.forEach((each, n) => {
    const waits = needsOf(plans, n).some((need) => outcomes[need] !== 'pass' && plans[need]!.kind !== 'cleanup');
    outcomes.push(waits && each.kind !== 'cleanup' ? 'skipped' : alone(each).outcome);
  });
  return { outcomes, verdict: plans.some(({ kind }, n) => kind !== 'cleanup' && outcomes[n] === 'fail') ? 'fail' : 'pass' };
}

/** Works through a run, in an order that `pick` chooses. */
function runThrough(plans: readonly Plan[], pick: () => number): Simulated {
  const run = new Simulated(plans);
  run.settle();
  for (let ready = run.ready(); ready.length > 0; ready = run.ready()) {
    run.work(ready[pick() % ready.length]!);
    run.settle();
    const lost = unreachable(run);
    if (lost.length > 0) throw new Error(`${lost.join(', ')} can be claimed, though what they need has not passed`);
  }
  return run;
}

/** Open steps that could be claimed although something that they need has failed. */
function unreachable(run: Simulated): string[] {
  const tidies = new Set(run.steps.flatMap(({ step }) => (step.kind === 'cleanup' ? [step.id] : [])));
  return run.ready().flatMap(({ step }) => {
    if (step.kind === 'cleanup') return [];
    return run.edges.some(({ from, to }) => to === step.id && !tidies.has(from) && !['pass', undefined].includes(run.outcome(from)))
      ? [step.id]
      : [];
  });
}

describe('a run', () => {
  const graph = fc.array(plan, { minLength: 1, maxLength: 10 });
  const order = fc.infiniteStream(fc.nat(1_000));

  it('ends as its steps do, in whatever order they are done', () => {
    fc.assert(
      fc.property(graph, order, (all, picks) => {
        const plans = all.filter(({ kind }) => kind !== 'abort');
        fc.pre(plans.length > 0);
        const run = runThrough(plans, () => picks.next().value as number);
        const expected = model(plans);
        expect(plans.map((_, n) => run.outcome(`s${n}`))).toEqual(expected.outcomes);
        expect(run.finished).toMatchObject({ do: 'finish', outcome: expected.verdict });
        plans.forEach((each, n) => {
          const rounds = new Set(run.steps.filter(({ of }) => of === `s${n}`).map(({ round }) => round));
          const begun = expected.outcomes[n] === 'skipped' ? 0 : alone(each).rounds;
          expect([`s${n}`, rounds.size]).toEqual([`s${n}`, begun]);
          if (each.kind !== 'drain' && each.kind !== 'lane') return;
          const units = begun === 0 ? [] : unitsOf(each.kind, each.ends);
          expect(each.ends.map((_, unit) => run.settled.get(`s${n}.${unit + 1}`)).filter((told) => told !== undefined)).toEqual(units);
          const tidied = run.steps.filter(({ step }) => step.id.startsWith(`s${n}.unit.`) && step.kind === 'cleanup');
          expect(tidied.map(({ step, ended }) => [step.title, ended?.word])).toEqual(
            units.map((outcome, unit) => [`Tidy m-${unit + 1}`, outcome === 'skipped' ? 'skipped' : 'pass']),
          );
        });
      }),
      { numRuns: DEEP ? 5_000 : 100 },
    );
  });

  it('takes the open members of a scope with the one that fails', () => {
    fc.assert(
      fc.property(graph, order, (all, picks) => {
        const plans = all.map((each): Plan => (each.kind === 'member' ? { ...each, kind: 'abort' } : each));
        fc.pre(plans.some(({ kind }) => kind === 'abort'));
        const run = runThrough(plans, () => picks.next().value as number);
        const members = plans.flatMap(({ kind }, n) => (kind === 'abort' ? [run.outcome(`s${n}`)] : []));
        const failed = members.includes('fail');
        expect(run.outcome('scope')).toBe(failed ? 'fail' : 'pass');
        expect(run.outcome('after')).toBe(failed ? 'skipped' : 'pass');
        expect(members.filter((outcome) => outcome === 'fail').length).toBeLessThanOrEqual(1);
        expect(run.finished).toBeDefined();
      }),
      { numRuns: DEEP ? 2_000 : 50 },
    );
  });
});
