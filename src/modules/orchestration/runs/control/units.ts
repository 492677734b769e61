import { moved } from '../../formulas/compile/fragments.js';
import { withVars } from '../../formulas/compile/placeholders.js';
import type { Control, Fragment, RecipeStep } from '../../formulas/compile/recipe.js';
import type { Rounds, UnitFact } from './facts.js';
import { joined, measured, type Grown } from './rounds.js';

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
 * @throws TooMuch
 */
export function unitsOf({ id }: RecipeStep, control: DrainControl, units: readonly UnitFact[], room: number): Rounds {
  const shared = control.context === 'shared';
  const grown = measured(control.body, units.length, shared, room, 'units');
  const parts = units.map((unit) => {
    const own = unitId(id, unit.n);
    const groupOf = (group: string | undefined): string | undefined =>
      shared ? (control.continuation_group ?? id) : group === undefined ? undefined : `${own}:${group}`;
    return moved(control.body, {
      id: (inner) => `${own}.${inner.slice(control.prefix.length)}`,
      step: (step) => forUnit(step, unit, groupOf(step.metadata[GROUP]), grown),
    });
  });
  return joined(parts, shared);
}

function forUnit(step: RecipeStep, { member, convoy }: UnitFact, group: string | undefined, grown: Grown): RecipeStep {
  const values = new Map([['issue', member], ...(convoy === undefined ? [] : [['convoy_id', convoy] as const])]);
  const { control, id, ...texts } = step;
  const known = (name: string): string | undefined => values.get(name);
  const fill = (text: string): string => grown(text, withVars(text, known));
  const filled = deep(texts, fill);
  return {
    ...filled,
    id,
    metadata: {
      ...filled.metadata,
      'gc.drain_member_id': member,
      ...(convoy === undefined ? {} : { 'gc.input_convoy_id': convoy }),
      ...(group === undefined ? {} : { [GROUP]: group }),
    },
    ...(control === undefined ? {} : { control: withoutBody(control, fill) }),
  };
}

/** What a control says itself; the steps that it repeats are steps of the unit as well, and come by on their own. */
function withoutBody(control: Control, fill: (text: string) => string): Control {
  const { body, ...own } = control as Control & { readonly body?: Fragment };
  const filled = deep(own, fill);
  return (body === undefined ? filled : { ...filled, body }) as Control;
}

/** The same with every text in it changed. */
export function deep<T>(part: T, change: (text: string) => string): T {
  if (typeof part === 'string') return change(part) as T;
  if (Array.isArray(part)) return part.map((each: unknown) => deep(each, change)) as T;
  if (typeof part !== 'object' || part === null) return part;
  return Object.fromEntries(Object.entries(part).map(([key, each]) => [key, deep(each as unknown, change)])) as T;
}
