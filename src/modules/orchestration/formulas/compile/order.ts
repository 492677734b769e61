import type { Fragment, RecipeEdge, RecipeStep } from './recipe.js';

/** Steps after all that they wait for, as they were written otherwise; the ids that wait for each other when there is no such order. */
export function inOrder(
  steps: readonly RecipeStep[],
  edges: readonly RecipeEdge[],
): readonly RecipeStep[] | { readonly cycle: readonly string[] } {
  const place = new Map(steps.map(({ id }, n) => [id, n]));
  const after = new Map<string, string[]>();
  const waiting = new Map(steps.map(({ id }) => [id, 0]));
  const wait = (from: string, to: string): void => {
    if (!place.has(from) || !place.has(to)) return;
    const known = after.get(from);
    if (known === undefined) after.set(from, [to]);
    else known.push(to);
    waiting.set(to, waiting.get(to)! + 1);
  };
  for (const { from, to } of edges) wait(from, to);
  const free = new Heap(steps.flatMap(({ id }, n) => (waiting.get(id) === 0 ? [n] : [])));
  const ordered: RecipeStep[] = [];
  for (let n = free.take(); n !== undefined; n = free.take()) {
    const step = steps[n]!;
    ordered.push(step);
    for (const to of after.get(step.id) ?? []) {
      const left = waiting.get(to)! - 1;
      waiting.set(to, left);
      if (left === 0) free.put(place.get(to)!);
    }
  }
  if (ordered.length === steps.length) return ordered;
  const done = new Set(ordered);
  return { cycle: steps.filter((step) => !done.has(step)).map(({ id }) => id) };
}

/** The edges of a fragment, and those by which a parent is over only after its parts. */
export function withParents({ steps, edges }: Fragment): RecipeEdge[] {
  return [
    ...edges,
    ...steps.flatMap(({ id, parent }) => (parent === undefined ? [] : [{ from: id, to: parent, kind: 'blocks' as const }])),
  ];
}

/** The smallest number first. */
export class Heap {
  readonly #items: number[] = [];

  constructor(items: readonly number[]) {
    for (const item of items) this.put(item);
  }

  put(item: number): void {
    const items = this.#items;
    items.push(item);
    for (let at = items.length - 1; at > 0;) {
      const up = (at - 1) >> 1;
      if (items[up]! <= items[at]!) return;
      [items[up], items[at]] = [items[at]!, items[up]!];
      at = up;
    }
  }

  take(): number | undefined {
    const items = this.#items;
    const [first] = items;
    const last = items.pop();
    if (items.length > 0 && last !== undefined) {
      items[0] = last;
      for (let at = 0; ;) {
        const [left, right] = [2 * at + 1, 2 * at + 2];
        let least = at;
        if (left < items.length && items[left]! < items[least]!) least = left;
        if (right < items.length && items[right]! < items[least]!) least = right;
        if (least === at) break;
        [items[at], items[least]] = [items[least]!, items[at]!];
        at = least;
      }
    }
    return first;
  }
}
