import { List, Table, type Node } from '../tree.js';

/** Places of a tree that are to be left out. */
export class Cuts {
  readonly #members = new Map<PropertyKey, Cuts>();
  #whole = false;

  add(path: readonly PropertyKey[]): void {
    // oxlint-disable-next-line typescript/no-this-alias -- where the walk stands
    let at: Cuts = this;
    for (const segment of path) at = at.#member(segment);
    at.#whole = true;
  }

  /** What is left of a tree; undefined when nothing is. The rest keeps its places. */
  apply(node: Node): Node | undefined {
    if (this.#whole) return undefined;
    if (this.#members.size === 0) return node;
    if (node instanceof Table) {
      const kept = [...node.entries].flatMap(([key, member]) => {
        const left = this.#left(key, member);
        return left === undefined ? [] : [[key, left] as const];
      });
      return new Table(new Map(kept), node.origin, node.at);
    }
    if (node instanceof List) {
      const items = node.items.flatMap((item, n) => this.#left(n, item) ?? []);
      return new List(items, node.origin, node.at);
    }
    return node;
  }

  #member(segment: PropertyKey): Cuts {
    let member = this.#members.get(segment);
    if (member === undefined) this.#members.set(segment, (member = new Cuts()));
    return member;
  }

  #left(segment: PropertyKey, node: Node): Node | undefined {
    const cuts = this.#members.get(segment);
    return cuts === undefined ? node : cuts.apply(node);
  }
}
