import { Leaf, List, Table, treeOf, type Node, type Origin, type Scalar } from '../tree.js';

/** The origin of what is computed from other values. */
const DERIVED: Origin = { file: 'derived' };
/** The origin of what nobody wrote. */
export const DEFAULT: Origin = { file: 'default' };

export const NO_KEYS = new Table(new Map(), DERIVED, '');
export const NO_ITEMS = new List([], DERIVED, '');

export function derived(value: Scalar): Leaf {
  return new Leaf(value, DERIVED, '');
}

export function derivedTree(value: unknown): Node {
  return treeOf(value, DERIVED);
}

export function fallback(value: Scalar): Leaf {
  return new Leaf(value, DEFAULT, '');
}

export function tableFrom(entries: Iterable<readonly [string, Node | undefined]>): Table {
  const kept = [...entries].filter((entry): entry is [string, Node] => entry[1] !== undefined);
  return new Table(new Map(kept), DERIVED, '');
}

export function listFrom(items: readonly Node[]): List {
  return new List(items, DERIVED, '');
}

/** The members of lists one after the other, each with its own origin; undefined when there is no list at all. */
export function concat(...nodes: readonly (Node | undefined)[]): List | undefined {
  const lists = nodes.filter((node) => node instanceof List);
  const filled = lists.filter((list) => list.items.length > 0);
  const [first] = filled.length === 0 ? lists : filled;
  if (first === undefined || filled.length < 2) return first;
  return new List(
    filled.flatMap((list) => list.items),
    first.origin,
    first.at,
  );
}

/** The keys of both tables, those of `over` winning. A side that is absent or no table has no keys. */
export function overlaid(base: Node | undefined, over: Node | undefined): Table | undefined {
  if (!(over instanceof Table)) return base instanceof Table ? base : undefined;
  if (!(base instanceof Table)) return over;
  return base.with(...over.entries);
}

/** The leaf when it says exactly this, else a derived one: what was computed does not claim to have been written. */
export function sameOrDerived(leaf: Node | undefined, value: string): Leaf {
  return leaf instanceof Leaf && leaf.value === value ? leaf : derived(value);
}
