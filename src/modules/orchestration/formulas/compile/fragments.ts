import type { Control, Fragment, RecipeStep } from './recipe.js';

/** How the steps of a fragment become other ones. */
export interface Moving {
  readonly id: (id: string) => string;
  /** What changes about a step beside its ids. */
  readonly step?: (step: RecipeStep) => RecipeStep;
}

/** The same steps elsewhere, with all that is repeated inside of them. */
export function moved({ steps, edges }: Fragment, moving: Moving): Fragment {
  return {
    steps: steps.map((step) => movedStep(step, moving)),
    edges: edges.map(({ from, to, kind }) => ({ from: moving.id(from), to: moving.id(to), kind })),
  };
}

/** Characters of the texts that its steps have, those of what is repeated inside of them included. */
export function lengthOf({ steps }: Pick<Fragment, 'steps'>): number {
  return sum(steps, ({ id, parent, scope, title, description, notes, assignee, labels, metadata, control }) => {
    const texts = [id, parent ?? '', scope?.ref ?? '', title, description, notes, assignee, ...labels, ...Object.entries(metadata).flat()];
    const body = control !== undefined && 'body' in control ? control.body : undefined;
    // What waits for what inside of it is kept with the step.
    const inner = body === undefined ? 0 : lengthOf(body) + sum(body.edges, ({ from, to }) => from.length + to.length);
    return inner + sum(texts, (text) => text.length);
  });
}

function sum<T>(all: readonly T[], of: (each: T) => number): number {
  return all.reduce((before, each) => before + of(each), 0);
}

function movedStep(before: RecipeStep, moving: Moving): RecipeStep {
  const step = moving.step?.(before) ?? before;
  const { parent, scope, control, metadata } = step;
  const ref = metadata['gc.scope_ref'];
  return {
    ...step,
    id: moving.id(step.id),
    ...(parent === undefined ? {} : { parent: moving.id(parent) }),
    ...(scope === undefined ? {} : { scope: { ...scope, ref: moving.id(scope.ref) } }),
    ...(ref === undefined ? {} : { metadata: { ...metadata, 'gc.scope_ref': moving.id(ref) } }),
    ...(control === undefined ? {} : { control: movedControl(control, moving) }),
  };
}

function movedControl(control: Control, moving: Moving): Control {
  switch (control.kind) {
    case 'gate':
      return control.until === undefined ? control : { ...control, until: about(control.until, moving) };
    case 'check':
      return control.body === undefined ? control : { ...control, body: moved(control.body, moving) };
    case 'loop':
      return { ...control, until: about(control.until, moving), body: moved(control.body, moving) };
    case 'fanout':
      return { ...control, of: moving.id(control.of), body: moved(control.body, moving) };
    default:
      return control;
  }
}

function about<T extends { readonly subject: string }>(until: T, { id }: Moving): T {
  return 'of' in until ? { ...until, of: id(String(until.of)) } : until;
}
