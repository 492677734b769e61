/** A list with depths, as a tree is read: each below what it is part of, in the order in which they came. */
export interface Leaf<T> {
  readonly item: T;
  readonly depth: number;
}

export function asTree<T>(items: readonly T[], id: (item: T) => string, parent: (item: T) => string | undefined): Leaf<T>[] {
  const known = new Set(items.map(id));
  const below = new Map<string | undefined, T[]>();
  for (const item of items) {
    const of = parent(item);
    const key = of !== undefined && of !== id(item) && known.has(of) ? of : undefined;
    const list = below.get(key);
    if (list === undefined) below.set(key, [item]);
    else list.push(item);
  }
  const found: Leaf<T>[] = [];
  const seen = new Set<string>();
  const stack: Leaf<T>[] = [...(below.get(undefined) ?? [])].reverse().map((item) => ({ item, depth: 0 }));
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const key = id(next.item);
    if (seen.has(key)) continue;
    seen.add(key);
    found.push(next);
    const { depth } = next;
    for (const item of [...(below.get(key) ?? [])].reverse()) stack.push({ item, depth: depth + 1 });
  }
  // A circle of parents has no beginning: what is in it is not lost.
  for (const item of items) if (!seen.has(id(item))) found.push({ item, depth: 0 });
  return found;
}

/** Without what is below the folded ones, and with how many are directly below each. */
export function unfolded<T>(leaves: readonly Leaf<T>[], folded: (item: T) => boolean): readonly (Leaf<T> & { readonly below: number })[] {
  const found: { item: T; depth: number; below: number }[] = [];
  /** The way down to where it is, and from which depth on nothing is shown. */
  const path: { below: number }[] = [];
  let hidden = Infinity;
  for (const { item, depth } of leaves) {
    const one = { item, depth, below: 0 };
    path.length = depth;
    const above = path[depth - 1];
    if (above !== undefined) above.below++;
    path.push(one);
    if (depth > hidden) continue;
    hidden = folded(item) ? depth : Infinity;
    found.push(one);
  }
  return found;
}
