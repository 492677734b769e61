import { problem } from '../../../../contract/problems.js';
import type { Control, Recipe, RecipeEdge, RecipeStep } from '../../formulas/compile/recipe.js';
import { withVars } from '../../formulas/compile/placeholders.js';
import type { Edge, NewRunBead } from '../../../work/work/bead-record.js';
import { deep, type DrainControl } from '../control/units.js';

/** What a recipe becomes for one place, agent and input. */
export interface PlanInput {
  readonly recipe: Recipe;
  /** One a step, in their order. */
  readonly ids: readonly string[];
  /** Of the beads. */
  readonly rig: string;
  readonly title: string | undefined;
  readonly priority: number | undefined;
  /** The canonical name of whom it goes to. */
  readonly target: string | undefined;
  readonly convoy: string | undefined;
  /** It is for a bead that is routed itself. */
  readonly attached: boolean;
  /** Added to the root. */
  readonly labels: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  /** Values that only the launch knows, by their names. */
  readonly given: ReadonlyMap<string, string>;
  /** Names of agents as the city knows them, by what the formula says. */
  readonly names: ReadonlyMap<string, string>;
}

export interface Plan {
  /** The root first. */
  readonly beads: readonly NewRunBead[];
  readonly edges: readonly Edge[];
  /** As the launch fills them; the root first. */
  readonly steps: readonly RecipeStep[];
  readonly gates: readonly { readonly bead: string; readonly control: Control }[];
}

export const ROUTE = 'gc.routed_to';
/** Of a bead that a graph does: whom its steps go to. */
export const EXECUTED_BY = 'gc.execution_routed_to';
const RUN_TARGET = 'gc.run_target';
/** What one bead holds at most, as the operations of beads say it. */
const LIMITS = { title: 500, description: 256 * 1024, label: 200, labels: 100, assignee: 255, type: 255, value: 16 * 1024, entries: 200 };

/** The beads of a run with everything that is between them. @throws ProblemError invalid_request for what does not fit into a bead or is left open */
export function planOf(input: PlanInput): Plan {
  const { recipe, ids } = input;
  requireInput(input);
  if (recipe.compiler === 2 && input.target === undefined) requireRoutes(recipe.steps.slice(1));
  const idOf = new Map(recipe.steps.map(({ id }, n) => [id, ids[n]!]));
  const fill = (step: RecipeStep): RecipeStep => (recipe.at_run.length === 0 ? step : filled(step, input));
  const steps = recipe.steps.map(fill);
  const place = { compiler: recipe.compiler, root: ids[0]!, rig: input.rig, target: input.target, names: input.names };
  const beads = steps.map((step, n) => (n === 0 ? rootOf(step, input) : stepOf(step, idOf, place)));
  for (const [n, bead] of beads.entries()) requireFits(bead, steps[n]!.id);
  return {
    beads,
    edges: edgesOf(recipe, idOf),
    steps,
    gates: steps.flatMap(({ id, control }) => (control?.kind === 'gate' ? [{ bead: idOf.get(id)!, control }] : [])),
  };
}

/** Whom steps of a recipe are for, by the words of the formula. */
export function namesIn(steps: readonly RecipeStep[]): string[] {
  return [...new Set(steps.flatMap(({ assignee, metadata }) => [assignee, metadata[RUN_TARGET] ?? '']).filter((name) => name !== ''))];
}

function rootOf(
  step: RecipeStep,
  { recipe, ids, rig, title, priority, target, convoy, attached, labels, metadata }: PlanInput,
): NewRunBead {
  const [source] = recipe.sources;
  const vars = Object.entries(recipe.vars).map(([name, value]) => [`gc.var.${name}`, value] as const);
  // What is routed is one thing: the steps of a graph, the bead that a tree is for, or the root.
  const routed = recipe.compiler === 1 ? !attached || !recipe.root_only : recipe.root_only;
  const route = routed ? ROUTE : RUN_TARGET;
  return {
    id: ids[0]!,
    runId: ids[0]!,
    ref: step.id,
    rig,
    title: title ?? step.title,
    type: step.type,
    priority: priority ?? step.priority,
    description: step.description,
    labels: [...new Set([...step.labels, ...labels])],
    metadata: {
      ...step.metadata,
      'gc.formula_hash': source!.sha256,
      'gc.formula_source': source!.file,
      ...Object.fromEntries(vars),
      ...(target === undefined ? {} : { [route]: target }),
      ...(convoy === undefined ? {} : { 'gc.input_convoy_id': convoy }),
      ...metadata,
    },
  };
}

/** What a round adds to a run. */
export interface RoundInput {
  readonly run: { readonly id: string; readonly target: string | null };
  readonly rig: string;
  readonly steps: readonly RecipeStep[];
  readonly edges: readonly RecipeEdge[];
  readonly ids: readonly string[];
  readonly names: ReadonlyMap<string, string>;
  /** The bead of the control that makes it, and the round that each step belongs to. */
  readonly logical: string;
  readonly rounds: readonly number[];
}

/** The beads of a round. @throws ProblemError invalid_request for what does not fit into a bead */
export function roundPlan({ run, rig, steps, edges, ids, names, logical, rounds }: RoundInput): Pick<Plan, 'beads' | 'edges'> {
  const idOf = new Map(steps.map(({ id }, n) => [id, ids[n]!]));
  const beads = steps.map((step, n) => {
    const bead = stepOf(step, idOf, { compiler: 2, root: run.id, rig, target: run.target ?? undefined, names });
    return { ...bead, metadata: { ...bead.metadata, 'gc.logical_bead_id': logical, 'gc.attempt': String(rounds[n]) } };
  });
  for (const [n, bead] of beads.entries()) requireFits(bead, steps[n]!.id);
  return { beads, edges: edges.map(({ from, to, kind }) => ({ issue_id: idOf.get(to)!, depends_on_id: idOf.get(from)!, type: kind })) };
}

interface Place {
  readonly compiler: 1 | 2;
  readonly root: string;
  readonly rig: string;
  readonly target: string | undefined;
  readonly names: ReadonlyMap<string, string>;
}

function stepOf(step: RecipeStep, idOf: ReadonlyMap<string, string>, { compiler, root, rig, target, names }: Place): NewRunBead {
  // A value that is empty once its variables are replaced says nobody.
  const wanted = step.metadata[RUN_TARGET] ?? '';
  const route = wanted === '' ? target : (names.get(wanted) ?? wanted);
  const claimable = compiler === 2 && step.control === undefined && step.kind !== 'scope';
  if (claimable && route === undefined && step.assignee === '') throw unrouted(step);
  return {
    id: idOf.get(step.id)!,
    runId: root,
    ref: step.id,
    rig,
    title: step.title,
    // Nobody claims what the run itself decides.
    type: claimable || compiler === 1 || step.kind === 'gate' ? step.type : 'step',
    priority: step.priority,
    assignee: names.get(step.assignee) ?? step.assignee,
    description: step.description,
    labels: step.labels,
    parent: step.parent === undefined ? undefined : idOf.get(step.parent),
    metadata: {
      ...step.metadata,
      ...(step.notes === '' ? {} : { notes: step.notes }),
      'gc.root_bead_id': root,
      'gc.step_ref': step.id,
      'gc.step_id': step.id,
      ...(compiler === 2 ? { 'gc.formula_contract': 'graph.v2' } : {}),
      ...(claimable && route !== undefined ? { [ROUTE]: route } : {}),
    },
  };
}

/** A part holds its whole up; the root of a graph waits for the steps that no other waits for. */
function edgesOf({ steps, edges, compiler, root_only: alone }: Recipe, idOf: ReadonlyMap<string, string>): Edge[] {
  if (alone) return [];
  const all = new Map<string, Edge>();
  const put = (from: string, to: string, type: string): void => {
    const edge = { issue_id: idOf.get(to)!, depends_on_id: idOf.get(from)!, type };
    const key = `${edge.issue_id} ${edge.depends_on_id}`;
    if (!all.has(key)) all.set(key, edge);
  };
  const [root, ...others] = steps;
  for (const { from, to, kind } of edges) put(from, to, kind);
  for (const { id, parent } of others) if (parent !== undefined && parent !== root!.id) put(id, parent, 'blocks');
  if (compiler === 2) {
    const waitedFor = new Set(edges.map(({ from }) => from));
    for (const { id } of others) if (!waitedFor.has(id)) put(id, root!.id, 'blocks');
  }
  return [...all.values()];
}

/**
 * Whoever is to do something is known before a run begins, also for what only its rounds, items and units make: there it would fail
 * once it has begun. @throws ProblemError invalid_request
 */
function requireRoutes(steps: readonly RecipeStep[]): void {
  for (const step of steps) {
    const { control, kind, assignee, metadata } = step;
    const body = control !== undefined && 'body' in control ? control.body : undefined;
    if (body !== undefined) requireRoutes(body.steps);
    // One attempt of a step that has no body is the step itself.
    else if (kind !== 'gate' && kind !== 'scope' && assignee === '' && (metadata[RUN_TARGET] ?? '') === '') throw unrouted(step);
  }
}

function unrouted({ id }: RecipeStep): Error {
  return problem('invalid_request', `step ${id} has no routing target; name a target, or set gc.run_target in the formula`, {
    at: 'body.target',
  });
}

/** Drains take members of a convoy, and what a unit needs to know is known. @throws ProblemError invalid_request */
function requireInput({ recipe, convoy, given }: PlanInput): void {
  for (const { at_run: names } of drainsIn(recipe.steps)) {
    if (convoy === undefined) throw unknown('convoy_id', recipe.formula);
    const open = names.find((name) => name !== 'convoy_id' && name !== 'issue' && !given.has(name));
    if (open !== undefined) throw unknown(open, recipe.formula);
  }
}

function drainsIn(steps: readonly RecipeStep[]): DrainControl[] {
  return steps.flatMap(({ control }) =>
    control?.kind === 'drain' ? [control] : control !== undefined && 'body' in control ? drainsIn(control.body?.steps ?? []) : [],
  );
}

/** A step with what only the launch knows. @throws ProblemError invalid_request for a name without a value */
function filled(step: RecipeStep, { recipe, given }: PlanInput): RecipeStep {
  const text = (before: string): string =>
    withVars(before, (name) => {
      const known = given.get(name);
      if (known === undefined && recipe.at_run.includes(name)) throw unknown(name, recipe.formula);
      return known;
    });
  const { control, ...rest } = step;
  return {
    ...deep(rest, text),
    id: step.id,
    ...(step.parent === undefined ? {} : { parent: step.parent }),
    // What a unit is for only the unit says.
    ...(control === undefined ? {} : { control: control.kind === 'drain' ? control : deep(control, text) }),
  };
}

function unknown(name: string, formula: string): Error {
  if (name === 'convoy_id')
    return problem('invalid_request', `v2 formula "${formula}" requires a target convoy`, { at: 'body.attached_bead_id' });
  if (name === 'bead_id')
    return problem('invalid_request', 'bead_id is not available in v2 formulas; use convoy_id', { at: 'body.formula' });
  return problem('invalid_request', `nothing gives {{${name}}} a value here: say it in vars`, { at: `body.vars.${name}` });
}

function requireFits(bead: NewRunBead, step: string): void {
  const entries = Object.entries(bead.metadata ?? {});
  const fault =
    bead.title.trim() === ''
      ? 'has an empty title'
      : bead.title.length > LIMITS.title
        ? `has a title of more than ${LIMITS.title} characters`
        : (bead.description?.length ?? 0) > LIMITS.description
          ? `has a description of more than ${LIMITS.description} characters`
          : (bead.labels?.length ?? 0) > LIMITS.labels || bead.labels?.some((label) => label === '' || label.length > LIMITS.label) === true
            ? `has an empty label, one of more than ${LIMITS.label} characters, or more than ${LIMITS.labels}`
            : (bead.assignee?.length ?? 0) > LIMITS.assignee || (bead.type?.length ?? 0) > LIMITS.type
              ? 'has an assignee or a type that is too long'
              : entries.length > LIMITS.entries + 20 || entries.some(([, value]) => value.length > LIMITS.value)
                ? `has more than ${LIMITS.entries} entries of metadata, or one of more than ${LIMITS.value} characters`
                : undefined;
  if (fault !== undefined) throw problem('invalid_request', `step ${step} ${fault}`, { at: 'body.formula' });
}
