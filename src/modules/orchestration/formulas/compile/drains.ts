import { isGraph } from './control-metadata.js';
import type { Formula, Step } from './formula.js';
import type { Formulas } from './formulas.js';
import { moved } from './fragments.js';
import { inside, type Issues } from './issues.js';
import { LIMITS } from './limits.js';
import type { Control, Recipe, RecipeStep } from './recipe.js';
import { INJECTED, type Given } from './vars.js';

type DrainControl = Extract<Control, { kind: 'drain' }>;

/** What a drain needs to know of the formula that it stands in. */
export interface Around {
  readonly formulas: Formulas;
  readonly values: ReadonlyMap<string, string>;
  /** Required variables without a value, of which a preview may have some. */
  readonly missing: ReadonlySet<string>;
  readonly given: Given;
  readonly recipeOf: (item: Formula, given: Given) => Recipe;
}

/** What a unit says itself: its convoy, and the only bead in that. */
const OF_UNIT = ['convoy_id', 'issue'];
/** As long as the number of a unit gets. */
const LONGEST = '.unit.100.'.length;

/** A drain with its item formula, compiled for itself: it takes part in nothing that the formula around it says about its own steps. */
export function drainOf({ drain, where }: Step, full: string, { formulas, values, missing, given, recipeOf }: Around): DrainControl {
  const { issues } = formulas;
  const at = inside(where, 'drain.formula');
  const nothing: DrainControl = { kind: 'drain', ...drain!, body: { steps: [], edges: [] }, prefix: '', at_run: [] };
  const refused = (message: string): DrainControl => {
    issues.error(at, message);
    return nothing;
  };
  if (drain!.formula === '' || drain!.formula.includes('{{')) return nothing;
  const item = formulas.whole(drain!.formula, at);
  if (item === undefined) return nothing;
  if (item.type !== 'workflow') return refused(`"${item.name}" is no workflow`);
  if (!item.compilers.some(({ range }) => isGraph(range)))
    return refused(`"${item.name}" does not declare [requires] formula_compiler = ">=2.0.0"`);
  if (item.vars.has('issue')) return refused(`"${item.name}" declares the variable "issue", which each unit says itself`);

  const recipe = recipeOf(item, { vars: valuesFor(item, values), injected: injectedFor(given) });
  for (const name of recipe.missing)
    if (!missing.has(name))
      issues.error(at, `"${item.name}" requires a value for "${name}": give this formula a variable of that name, or that one a default`);
  if (recipe.root_only) return refused(`"${item.name}" has no steps to do for a member`);
  const steps = recipe.steps.slice(1);
  const tooLong = steps.find(({ id }) => full.length + LONGEST + id.length - item.name.length > LIMITS.fullId);
  if (tooLong !== undefined) return refused(`its unit of ${tooLong.id} has an id of more than ${LIMITS.fullId} characters`);
  if (drain!.context === 'shared')
    for (const fault of faultsOfLane(recipe))
      issues.error(inside(where, 'drain.item.single_lane'), `"${item.name}" is no single lane: ${fault}`);
  const prefix = `${full}.unit.{unit}.`;
  const body = moved({ steps, edges: recipe.edges }, { id: (id) => prefix + id.slice(item.name.length + 1) });
  return { kind: 'drain', ...drain!, body, prefix, at_run: recipe.at_run };
}

/** A unit is for one member: there is nothing in it to be drained. */
export function noDrain({ drain, where }: Step, issues: Issues): DrainControl {
  issues.error(inside(where, 'drain'), 'stands in the item formula of another drain: units have none of their own');
  return { kind: 'drain', ...drain!, body: { steps: [], edges: [] }, prefix: '', at_run: [] };
}

/** Variables of one name have one value; all others of the item have their defaults. */
function valuesFor(item: Formula, values: ReadonlyMap<string, string>): Record<string, string> {
  return Object.fromEntries(
    [...item.vars.keys()].flatMap((name) => {
      const value = values.get(name);
      return value === undefined || value === '' ? [] : [[name, value] as const];
    }),
  );
}

function injectedFor({ vars, injected }: Given): Record<string, string> {
  const said = Object.entries(vars).filter(([name]) => (INJECTED as readonly string[]).includes(name));
  return Object.fromEntries([...Object.entries(injected), ...said].filter(([name]) => !OF_UNIT.includes(name)));
}

const LATER: ReadonlySet<string> = new Set(['retry', 'check', 'loop', 'fanout']);

/**
 * Why not one claimant could do all of it, one step after the other: what is open when he takes the first step is given to him, and
 * attempts, rounds and items that come later are not there yet.
 */
function faultsOfLane({ steps: [, ...steps], edges }: Recipe): string[] {
  const later = steps.find(({ kind }) => LATER.has(kind));
  if (later !== undefined) return [`${later.id} has a ${later.kind}, whose steps are offered anew each time`];
  const grouped = steps.find(({ metadata }) => metadata['gc.continuation_group'] !== undefined);
  if (grouped !== undefined) return [`${grouped.id} has a gc.continuation_group, and all units of a drain are in that of the drain`];
  const done = steps.filter(isClaimed);
  const owners = new Set(done.map(({ assignee, metadata }) => `${assignee} ${metadata['gc.run_target'] ?? ''}`));
  if (owners.size > 1) return ['its steps are for different agents'];
  const place = new Map(done.map(({ id }, n) => [id, n]));
  const needs = new Map<string, string[]>();
  for (const { from, to } of edges) {
    const known = needs.get(to);
    if (known === undefined) needs.set(to, [from]);
    else known.push(from);
  }
  // The last of the claimed ones that each step comes after.
  const after = new Map<string, number>();
  for (const { id } of steps) {
    const last = (needs.get(id) ?? []).reduce((most, from) => Math.max(most, place.get(from) ?? after.get(from) ?? -1), -1);
    after.set(id, last);
    const own = place.get(id);
    if (own !== undefined && last !== own - 1) return [`${done[own - 1]!.id} and ${id} can be done at once`];
  }
  return [];
}

function isClaimed({ control, kind }: RecipeStep): boolean {
  return control === undefined && kind !== 'scope';
}
