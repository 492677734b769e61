import type { Step } from './formula.js';
import type { Budget } from './limits.js';
import { withLocals } from './placeholders.js';
import type { Until } from './until.js';

/** Every step of a tree, parents before their children; bodies of loops are trees of their own. */
export function* walk(steps: readonly Step[]): Generator<Step> {
  for (const step of steps) {
    yield step;
    yield* walk(step.children);
  }
}

/** A tree with every step changed; what becomes several stands in its place. */
export function mapped(steps: readonly Step[], change: (step: Step) => readonly Step[]): Step[] {
  return steps.flatMap((step) => change(step.children.length === 0 ? step : { ...step, children: mapped(step.children, change) }));
}

/** Replaced words of steps that are copied. */
export interface Copying {
  /** Put before the ids of these steps, and wherever these are named. */
  readonly prefix: string;
  readonly locals: (name: string) => string | undefined;
  /** What all copies get under what they have. */
  readonly tags?: readonly string[];
  readonly metadata?: Readonly<Record<string, string>>;
}

/** Copies of steps with other ids and words. @throws TooMuch */
export function copies(steps: readonly Step[], copying: Copying, budget: Budget): Step[] {
  const { prefix, locals } = copying;
  const ids = new Set(Array.from(walk(steps), ({ id }) => id));
  const text = (written: string): string => {
    const made = withLocals(written, locals);
    budget.spend('copied', made.length);
    return made;
  };
  const ref = (id: string): string => (ids.has(id) ? `${prefix}${text(id)}` : text(id));
  const values = (record: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(Object.entries(record).map(([key, value]) => [key, key === 'gc.scope_ref' ? ref(value) : text(value)]));
  const until = (condition: Until): Until => {
    if (condition.subject === 'output') return { ...condition, value: text(condition.value) };
    return condition.subject === 'children' ? { ...condition, of: ref(condition.of) } : condition;
  };

  const copy = (step: Step, inBody: boolean): Step => {
    const { gate, loop, check, onComplete, condition, timeout, waitsFor } = step;
    const made: Step = {
      ...step,
      id: inBody ? text(step.id) : ref(step.id),
      title: text(step.title),
      description: text(step.description),
      notes: text(step.notes),
      tags: [...(inBody ? [] : (copying.tags ?? [])), ...step.tags.map(text)],
      metadata: { ...(inBody ? {} : copying.metadata), ...values(step.metadata) },
      needs: step.needs.map(ref),
      assignee: text(step.assignee),
      expandVars: values(step.expandVars),
      children: step.children.map((child) => copy(child, inBody)),
      ...(waitsFor === undefined ? {} : { waitsFor: ref(waitsFor) }),
      ...(timeout === undefined ? {} : { timeout: text(timeout) }),
      ...(condition === undefined
        ? {}
        : {
            condition: {
              ...condition,
              left: text(condition.left),
              ...(condition.right === undefined ? {} : { right: text(condition.right) }),
            },
          }),
      ...(gate === undefined
        ? {}
        : {
            gate: {
              ...gate,
              id: text(gate.id),
              ...(gate.timeout === undefined ? {} : { timeout: text(gate.timeout) }),
              ...(gate.until === undefined ? {} : { until: until(gate.until) }),
            },
          }),
      ...(check === undefined ? {} : { check: { ...check, ...(check.timeout === undefined ? {} : { timeout: text(check.timeout) }) } }),
      ...(onComplete === undefined ? {} : { onComplete: { ...onComplete, vars: values(onComplete.vars) } }),
      ...(loop === undefined
        ? {}
        : {
            loop: {
              ...loop,
              ...(loop.range === undefined ? {} : { range: text(loop.range) }),
              ...(loop.until === undefined ? {} : { until: until(loop.until) }),
              body: loop.body.map((inner) => copy(inner, true)),
            },
          }),
    };
    budget.spend('copies');
    return made;
  };
  return steps.map((step) => copy(step, false));
}

/** The same steps, waiting for what those that were left out of them would have waited for. @throws TooMuch */
export function without(steps: readonly Step[], left: ReadonlyMap<string, readonly string[]>, budget: Budget): Step[] {
  const instead = (id: string, seen: Set<string>): readonly string[] => {
    const needs = left.get(id);
    if (needs === undefined) return [id];
    if (seen.has(id)) return [];
    seen.add(id);
    budget.spend('edges', needs.length);
    return needs.flatMap((need) => instead(need, seen));
  };
  return steps.map((step) => {
    const { loop, check, children } = step;
    const seen = new Set<string>();
    // Children of a check may have an id of those around it, and mean their own.
    const own = new Set(check === undefined ? [] : Array.from(walk(children), ({ id }) => id));
    const around = own.size === 0 ? left : new Map([...left].filter(([id]) => !own.has(id)));
    return {
      ...step,
      needs: [...new Set(step.needs.flatMap((need) => instead(need, seen)))],
      children: without(children, around, budget),
      ...(loop === undefined ? {} : { loop: { ...loop, body: without(loop.body, left, budget) } }),
    };
  });
}
