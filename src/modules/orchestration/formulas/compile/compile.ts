import semver from 'semver';
import type { Issue } from '../../../files/composition/issue.js';
import { Compositions } from './compositions.js';
import { isGraph, EMPTY } from './control-metadata.js';
import { drainOf, noDrain } from './drains.js';
import { Flattening } from './flattening.js';
import type { Formula, Step, Where } from './formula.js';
import { Issues } from './issues.js';
import { Formulas } from './formulas.js';
import type { Library } from './library.js';
import { Budget, TooMuch } from './limits.js';
import { withVars } from './placeholders.js';
import type { Control, Fragment, Recipe, RecipeStep } from './recipe.js';
import { inOrder, withParents } from './order.js';
import { INJECTED, valuesOf, type Given } from './vars.js';
import { Weaving } from './weaving.js';
import { Words } from './words.js';

export interface CompileOptions extends Given {
  /** False: variables without a value stay, as in a preview of what nobody has given values. */
  readonly strict: boolean;
  /** What the host can do: `1.0.0` where a city has switched the second compiler off. */
  readonly compiler: '1.0.0' | '2.0.0';
}

export interface Compiled {
  /** Undefined when there are errors. */
  readonly recipe?: Recipe;
  /** What the formula is with its parents, as far as it can be told. */
  readonly formula?: Formula;
  /** Whether another value of `issue` could make another recipe: another one than with that value among its variables. */
  readonly ofIssue?: boolean;
  /** Everything that is wrong, each with file, line and key. */
  readonly issues: readonly Issue[];
}

/**
 * Makes a recipe of a formula. Pure, and bounded whatever the formula says: it reads nothing but the library that it is
 * given, never throws for what is in it, and tells all mistakes at once.
 *
 * @throws Outgrown with a small budget
 */
export function compile(name: string, library: Library, options: CompileOptions, budget = new Budget()): Compiled {
  const issues = new Issues();
  const formulas = new Formulas(library, issues, budget);
  const asked: Where = { file: library.formula(name)?.file ?? `formulas/${name}.toml`, key: '' };
  let formula: Formula | undefined;
  let recipe: Recipe | undefined;
  try {
    formula = formulas.whole(name, asked);
    recipe = formula && recipeOf(formula, formulas, options);
  } catch (error) {
    if (!(error instanceof TooMuch)) throw error;
    issues.error(asked, error.message);
  }
  const texts = new Map(formulas.sources.map(({ file, text }) => [file, text]));
  const found = issues.placed((file) => texts.get(file) ?? (file === asked.file ? library.formula(name)?.text : undefined));
  const ofIssue = formulas.asked.has('issue') || formula?.vars.has('issue') === true;
  return {
    issues: found,
    ...(ofIssue ? { ofIssue } : {}),
    ...(formula === undefined ? {} : { formula }),
    ...(recipe === undefined || issues.any ? {} : { recipe }),
  };
}

/** @param isItem whether it is what a drain does for each member */
function recipeOf(formula: Formula, formulas: Formulas, options: CompileOptions, isItem = false): Recipe {
  const { issues, budget } = formulas;
  const { file } = formula.source;
  const top: Where = { file, key: '' };
  const alone = formula.type === 'expansion';
  const v2 = formula.compilers.some(({ range }) => isGraph(range));
  const { values, missing } = valuesOf(formula.vars, options, { strict: options.strict, v2, where: top }, issues, budget);
  if (v2)
    for (const name of ['convoy_id', 'bead_id'])
      if (formula.vars.has(name)) issues.error(formula.vars.get(name)!.where, 'is reserved: the run says what its input is');
  const lacking = new Set(missing);
  const value = (name: string): string | undefined => {
    formulas.asked.add(name);
    return values.get(name);
  };
  const texts = { value, missing: lacking, resolve: (text: string) => withVars(text, value) };
  const weaving = new Weaving(formulas, texts, formula.compose.gate);
  const compositions = new Compositions(weaving);
  const stays = (name: string): 'run' | 'missing' | undefined =>
    lacking.has(name) ? 'missing' : (v2 && name === 'convoy_id') || (INJECTED as readonly string[]).includes(name) ? 'run' : undefined;
  const words = new Words(value, stays, issues, budget);

  let steps = alone ? weaving.alone(formula) : weaving.prepared(formula.steps);
  if (!alone) {
    steps = compositions.wired(steps, formula.compose);
    steps = compositions.advised(steps, formula.advice);
    steps = weaving.expanded(steps);
    steps = compositions.spliced(steps, formula.compose);
    steps = compositions.advised(steps, compositions.aspects(formula));
  }
  const drain = (step: Step, full: string): Control =>
    isItem
      ? noDrain(step, issues)
      : drainOf(step, full, {
          ...{ formulas, values, missing: lacking, given: options },
          recipeOf: (item, given) => recipeOf(item, formulas, { ...options, ...given, strict: false }, true),
        });
  const flattening = new Flattening(weaving, words, { formula: formula.name, v2, drain });
  const flat = flattening.recipe(steps, formula.name);
  compilers(formula, weaving, v2, options.compiler, issues);
  const root = rootOf(formula, { v2, steps: flat.steps.length, words });
  const ordered = flattening.doubled ? flat.steps : sorted(flat, issues, { top, needs: flattening.needs });
  const rootOnly = root.kind === 'wisp';
  const { sources } = formulas;
  return {
    formula: formula.name,
    compiler: v2 ? 2 : 1,
    phase: formula.phase ?? 'liquid',
    root_only: rootOnly,
    steps: rootOnly ? [root] : [root, ...ordered],
    edges: rootOnly ? [] : flat.edges,
    vars: Object.fromEntries([...values].filter(([, each]) => each !== '')),
    at_run: [...words.atRun].sort(),
    missing,
    sources: [formula.source, ...sources.filter(({ name }) => name !== formula.name)].map(({ name, file: at, sha256 }) => ({
      name,
      file: at,
      sha256,
    })),
  };
}

/** What the formula and all that it is made of need of the compiler. */
function compilers(formula: Formula, weaving: Weaving, v2: boolean, host: string, issues: Issues): void {
  const all = [...formula.compilers, ...weaving.used.flatMap((used) => used.formula.compilers)];
  for (const { where, range } of all)
    if (semver.validRange(range) !== null && !semver.satisfies(host, range))
      issues.error(where, `this service compiles as ${host}${host === '1.0.0' ? ': formula_v2 is off in [daemon]' : ''}`);
  if (!v2)
    for (const { formula: used, where } of weaving.used)
      if (used.compilers.some(({ range }) => isGraph(range)))
        issues.error(where, `"${used.name}" needs the second compiler: declare [requires] formula_compiler = ">=2.0.0" here too`);
}

function rootOf(formula: Formula, { v2, steps, words }: { v2: boolean; steps: number; words: Words }): RecipeStep {
  const where: Where = { file: formula.source.file, key: '' };
  const wisp = steps === 0 || (formula.phase === 'vapor' && !formula.pour);
  const kind = wisp ? 'wisp' : v2 ? 'workflow' : 'molecule';
  const title = formula.vars.has('title') ? words.of('{{title}}', where, 'vars.title') : formula.name;
  return {
    ...EMPTY,
    id: formula.name,
    kind,
    type: kind === 'molecule' ? 'molecule' : 'task',
    title: title === '' ? formula.name : title,
    description: formula.vars.has('desc') ? words.of('{{desc}}', where, 'vars.desc') : words.of(formula.description, where, 'description'),
    priority: 2,
    metadata: {
      'gc.formula_name': formula.name,
      ...(kind === 'molecule' ? {} : { 'gc.kind': kind }),
      ...(v2 ? { 'gc.formula_contract': 'graph.v2' } : {}),
    },
  };
}

/** The steps in an order in which they can be done, and so are those that a run repeats. */
function sorted({ steps, edges: own }: Fragment, issues: Issues, at: { top: Where; needs: ReadonlyMap<string, Where> }): RecipeStep[] {
  const inner = ({ control }: RecipeStep): Pick<RecipeStep, 'control'> =>
    control === undefined || !('body' in control) || control.body === undefined
      ? {}
      : { control: { ...control, body: { ...control.body, steps: sorted(control.body, issues, at) } } };
  const fragment = { steps: steps.map((step) => ({ ...step, ...inner(step) })), edges: own };
  const edges = withParents(fragment);
  const ordered = inOrder(fragment.steps, edges);
  if (!('cycle' in ordered)) return [...(inOrder(fragment.steps, own) as readonly RecipeStep[])];
  // Looked at backwards, those go that only come after the circle.
  const left = new Set(ordered.cycle);
  const back = inOrder(
    fragment.steps.filter(({ id }) => left.has(id)),
    edges.map(({ from, to, kind }) => ({ from: to, to: from, kind })),
  );
  const cycle = 'cycle' in back ? back.cycle : ordered.cycle;
  const where = cycle.flatMap((id) => at.needs.get(id) ?? [])[0] ?? at.top;
  const shown = cycle.slice(0, 5).join(', ');
  issues.error(where, `steps wait for each other: ${shown}${cycle.length > 5 ? `, and ${cycle.length - 5} more` : ''}`);
  return fragment.steps;
}
