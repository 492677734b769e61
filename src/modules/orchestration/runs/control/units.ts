import { moved } from '../../formulas/compile/fragments.js';
import { LIMITS, TooMuch } from '../../formulas/compile/limits.js';
import { withVars } from '../../formulas/compile/placeholders.js';
import type { Control, Fragment, RecipeStep } from '../../formulas/compile/recipe.js';
import type { Rounds, UnitFact } from './facts.js';
import { joined, MAX_STEPS } from './rounds.js';

export type DrainControl = Extract<Control, { kind: 'drain' }>;

const GROUP = 'gc.continuation_group';

/** Where the steps of a unit stand. */
export function unitId(drain: string, unit: number): string {
  return `${drain}.unit.${unit}`;
}

/**
 * What a drain does for its members, one after the other in a shared context.
 *
 * @param room how many steps the run may still get
 * @throws TooMuch before anything of it is made
 */
export function unitsOf({ id }: RecipeStep, control: DrainControl, units: readonly UnitFact[], room: number): Rounds {
  if (control.body.steps.length * units.length > room) throw new TooMuch(`the run has more than ${MAX_STEPS} steps`);
  if (lengthOf(control.body) * units.length > LIMITS.characters) throw new TooMuch(`units of more than ${LIMITS.characters} characters`);
  const shared = control.context === 'shared';
  const parts = units.map((unit) => {
    const own = unitId(id, unit.n);
    const groupOf = (group: string | undefined): string | undefined =>
      shared ? (control.continuation_group ?? id) : group === undefined ? undefined : `${own}:${group}`;
    return moved(control.body, {
      id: (inner) => `${own}.${inner.slice(control.prefix.length)}`,
      step: (step) => forUnit(step, unit, groupOf(step.metadata[GROUP])),
    });
  });
  return joined(parts, shared);
}

/** Characters of all texts, those of what is repeated included. */
function lengthOf({ steps }: Fragment): number {
  return steps.reduce((sum, { title, description, notes, control }) => {
    const inner = control !== undefined && 'body' in control && control.body !== undefined ? lengthOf(control.body) : 0;
    return sum + title.length + description.length + notes.length + inner;
  }, 0);
}

function forUnit(step: RecipeStep, { member, convoy }: UnitFact, group: string | undefined): RecipeStep {
  const values = new Map([['issue', member], ...(convoy === undefined ? [] : [['convoy_id', convoy] as const])]);
  const { control, id, ...texts } = step;
  const filled = deep(texts, (text) => withVars(text, (name) => values.get(name)));
  return {
    ...filled,
    id,
    metadata: {
      ...filled.metadata,
      'gc.drain_member_id': member,
      ...(convoy === undefined ? {} : { 'gc.input_convoy_id': convoy }),
      ...(group === undefined ? {} : { [GROUP]: group }),
    },
    ...(control === undefined ? {} : { control: withoutBody(control, values) }),
  };
}

/** What a control says itself; the steps that it repeats are steps of the unit as well, and come by on their own. */
function withoutBody(control: Control, values: ReadonlyMap<string, string>): Control {
  const { body, ...own } = control as Control & { readonly body?: Fragment };
  const filled = deep(own, (text) => withVars(text, (name) => values.get(name)));
  return (body === undefined ? filled : { ...filled, body }) as Control;
}

/** The same with every text in it changed. */
export function deep<T>(part: T, change: (text: string) => string): T {
  if (typeof part === 'string') return change(part) as T;
  if (Array.isArray(part)) return part.map((each: unknown) => deep(each, change)) as T;
  if (typeof part !== 'object' || part === null) return part;
  return Object.fromEntries(Object.entries(part).map(([key, each]) => [key, deep(each as unknown, change)])) as T;
}
