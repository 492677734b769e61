import { storableText } from '../../../../contract/storable.js';
import { lengthOf } from '../../formulas/compile/fragments.js';
import { LIMITS, TooMuch } from '../../formulas/compile/limits.js';
import { withLocals } from '../../formulas/compile/placeholders.js';
import type { Control, Fragment, RecipeEdge, RecipeStep } from '../../formulas/compile/recipe.js';
import type { Until } from '../../formulas/compile/until.js';
import type { Rounds } from './facts.js';
import { at } from './outcome.js';

type Locals = (name: string) => string | undefined;

/** Steps of one run, those of all rounds included. */
export const MAX_STEPS = 5_000;

/** Characters of the texts of these steps. All of them are read whenever a round is due. */
export const MAX_CHARACTERS = 16 * 1024 * 1024;

/** Dependencies of one fan-out, or drain, inside of its parts and between them. */
export const MAX_EDGES = 50_000;

/** Items of one fan-out. */
export const MAX_ITEMS = 200;

/** A field that the author asks for and an item has not, or not as a bead could have it. */
export class NoSuchField extends Error {}

/** What a step of its own becomes in one attempt: the step itself, for whoever does it. */
export function attempt(step: RecipeStep, word: 'attempt' | 'iteration', round: number): Rounds {
  const { control: _, scope: __, parent: ___, metadata, ...rest } = step;
  const kept = Object.entries(metadata).filter(([key]) => !CONTROL_KEYS.has(key));
  const one: RecipeStep = { ...rest, id: `${step.id}.${word}.${round}`, kind: 'task', metadata: Object.fromEntries(kept) };
  return { steps: [{ step: one, round }], edges: [] };
}

const CONTROL_KEYS: ReadonlySet<string> = new Set([
  ...['gc.kind', 'gc.max_attempts', 'gc.on_exhausted', 'gc.check_mode', 'gc.check_path', 'gc.check_timeout', 'gc.step_timeout'],
  ...['gc.scope_ref', 'gc.scope_role', 'gc.on_fail'],
]);

/** One round of a part that is repeated. */
export function iteration(body: Fragment, round: number): Rounds {
  const { steps, edges } = filled(body, (name) => (name === 'iteration' ? String(round) : undefined));
  return { steps: steps.map((step) => ({ step, round })), edges };
}

/**
 * The parts of all items, from 1; those of one item after those of the one before it when they are `sequential`.
 *
 * @param room how many steps the run may still get
 * @throws NoSuchField; TooMuch when they are more, or longer, than a run may have
 */
export function items(body: Fragment, values: readonly unknown[], sequential: boolean, room: number): Rounds {
  if (values.length > MAX_ITEMS) throw new TooMuch(`more than ${MAX_ITEMS} items`);
  const grown = measured(body, values.length, sequential, room, 'items');
  return joined(
    values.map((value, index) => filled(body, ofItem(value, index + 1), grown)),
    sequential,
  );
}

/** What a text is filled with; answers it. @throws TooMuch */
export type Grown = (before: string, after: string) => string;

/**
 * Looks whether so many copies of a part fit into a run, before anything of them is made. What it answers counts what their texts grow by
 * while they are filled, and stops at the first that is too long: a few words in a file may stand for gigabytes.
 *
 * @param room how many steps the run may still get
 * @throws TooMuch, and what it answers does
 */
export function measured(body: Fragment, copies: number, sequential: boolean, room: number, what: 'items' | 'units'): Grown {
  if (body.steps.length * copies > room) throw new TooMuch(`the run has more than ${MAX_STEPS} steps`);
  const { first, last } = endsOf(body);
  const edges = body.edges.length * copies + (sequential ? first.length * last.length * (copies - 1) : 0);
  if (edges > MAX_EDGES) throw new TooMuch(`${what} with more than ${MAX_EDGES} dependencies`);
  let left = LIMITS.characters;
  const spend = (length: number): void => {
    left -= length;
    if (left < 0) throw new TooMuch(`${what} of more than ${LIMITS.characters} characters`);
  };
  spend(lengthOf(body) * copies);
  return (before, after) => {
    spend(Math.max(0, after.length - before.length));
    return after;
  };
}

/**
 * Parts side by side, each a round of its own, from 1; or one after the other: what a part begins with waits for all that the one before
 * it ends with.
 */
export function joined(parts: readonly Fragment[], sequential: boolean): Rounds {
  const steps: { step: RecipeStep; round: number }[] = [];
  const edges: RecipeEdge[] = [];
  let last: readonly string[] = [];
  for (const [index, part] of parts.entries()) {
    if (sequential) {
      const ends = endsOf(part);
      for (const from of last) for (const to of ends.first) edges.push({ from, to, kind: 'blocks' });
      ({ last } = ends);
    }
    steps.push(...part.steps.map((step) => ({ step, round: index + 1 })));
    edges.push(...part.edges);
  }
  return { steps, edges };
}

/** What a part begins with, and what it ends with. */
function endsOf({ steps, edges }: Fragment): { first: readonly string[]; last: readonly string[] } {
  const waiting = new Set(edges.map(({ to }) => to));
  const waited = new Set(edges.map(({ from }) => from));
  const ids = steps.map(({ id }) => id);
  return { first: ids.filter((id) => !waiting.has(id)), last: ids.filter((id) => !waited.has(id)) };
}

function ofItem(value: unknown, index: number): Locals {
  return (name) => {
    if (name === 'index') return String(index);
    if (name !== 'item' && !name.startsWith('item.')) return undefined;
    const found = at(value, name.split('.').slice(1));
    if (found === undefined || found === null) throw new NoSuchField(`item ${index} has no ${name.slice('item.'.length)}`);
    const text = typeof found === 'string' ? found : JSON.stringify(found);
    // An output is JSON in a text: what its escapes stand for has been checked by nobody.
    if (storableText(text) !== text) throw new NoSuchField(`item ${index} has characters that cannot be stored`);
    return text;
  };
}

function filled(body: Fragment, locals: Locals, grown: Grown = (_, after) => after): Fragment {
  const text = (value: string): string => grown(value, withLocals(value, locals));
  return {
    steps: body.steps.map((step) => ({
      ...step,
      ...{ id: text(step.id), title: text(step.title), description: text(step.description), notes: text(step.notes) },
      ...{ assignee: text(step.assignee), labels: step.labels.map(text) },
      metadata: Object.fromEntries(Object.entries(step.metadata).map(([key, value]) => [key, text(value)])),
      ...(step.parent === undefined ? {} : { parent: text(step.parent) }),
      ...(step.scope === undefined ? {} : { scope: { ...step.scope, ref: text(step.scope.ref) } }),
      ...(step.control === undefined ? {} : { control: control(step.control, text, (inner) => filled(inner, locals, grown)) }),
    })),
    edges: body.edges.map(({ from, to, kind }) => ({ from: text(from), to: text(to), kind })),
  };
}

function control(given: Control, text: (value: string) => string, inside: (inner: Fragment) => Fragment): Control {
  switch (given.kind) {
    case 'gate':
      return { ...given, id: text(given.id), ...(given.until === undefined ? {} : { until: about(given.until, text) }) };
    case 'check':
      return given.body === undefined ? given : { ...given, body: inside(given.body) };
    case 'loop':
      return { ...given, until: about(given.until, text), body: inside(given.body) };
    case 'fanout':
      return { ...given, of: text(given.of), body: inside(given.body) };
    default:
      return given;
  }
}

function about(until: Until, text: (value: string) => string): Until {
  if (until.subject === 'output') return { ...until, value: text(until.value) };
  return until.subject === 'children' ? { ...until, of: text(until.of) } : until;
}
