/**
 * Values that know where they were written. Files become trees of nodes, composing moves nodes around without
 * touching their origin, and the result can be read both as plain values and as a list of places.
 */
export type Scalar = string | number | boolean | bigint | Date;

/** Where a node was written. */
export interface Origin {
  /**
   * A file as in `Issue.file`, or a source that is no file: `builtin:<provider>`, `default` (a value nobody wrote),
   * `derived` (computed from other values).
   */
  readonly file: string;
}

/** `at` is the key inside the origin in dotted form, such as `agent[0].env.DEBUG`. */
export class Leaf {
  constructor(
    readonly value: Scalar,
    readonly origin: Origin,
    readonly at: string,
  ) {}
}

export class List {
  constructor(
    readonly items: readonly Node[],
    readonly origin: Origin,
    readonly at: string,
  ) {}
}

/** A table; treat it as a value: `with` and `without` make another one. */
export class Table {
  constructor(
    readonly entries: ReadonlyMap<string, Node>,
    readonly origin: Origin,
    readonly at: string,
  ) {}

  get(key: string): Node | undefined {
    return this.entries.get(key);
  }

  /** The member under `key` when it is a table. */
  table(key: string): Table | undefined {
    const node = this.entries.get(key);
    return node instanceof Table ? node : undefined;
  }

  /** The tables of the list under `key`; empty when there is none. */
  tables(key: string): Table[] {
    const node = this.entries.get(key);
    return node instanceof List ? node.items.filter((item) => item instanceof Table) : [];
  }

  text(key: string): string | undefined {
    const node = this.entries.get(key);
    return node instanceof Leaf && typeof node.value === 'string' ? node.value : undefined;
  }

  number(key: string): number | undefined {
    const node = this.entries.get(key);
    return node instanceof Leaf && typeof node.value === 'number' ? node.value : undefined;
  }

  flag(key: string): boolean | undefined {
    const node = this.entries.get(key);
    return node instanceof Leaf && typeof node.value === 'boolean' ? node.value : undefined;
  }

  /** The texts of the list under `key`; undefined when there is no list. */
  texts(key: string): string[] | undefined {
    const node = this.entries.get(key);
    if (!(node instanceof List)) return undefined;
    return node.items.flatMap((item) => (item instanceof Leaf && typeof item.value === 'string' ? [item.value] : []));
  }

  with(...changes: readonly (readonly [string, Node | undefined])[]): Table {
    const entries = new Map(this.entries);
    for (const [key, node] of changes) {
      if (node === undefined) entries.delete(key);
      else entries.set(key, node);
    }
    return new Table(entries, this.origin, this.at);
  }

  without(...keys: readonly string[]): Table {
    return this.with(...keys.map((key) => [key, undefined] as const));
  }
}

export type Node = Leaf | List | Table;

/** The tree of a parsed document or of any plain value. */
export function treeOf(value: unknown, origin: Origin, at = ''): Node {
  if (Array.isArray(value))
    return new List(
      value.map((item, n) => treeOf(item, origin, `${at}[${n}]`)),
      origin,
      at,
    );
  if (typeof value === 'object' && value !== null && !(value instanceof Date)) {
    const entries = new Map<string, Node>();
    for (const [key, member] of Object.entries(value)) if (member !== undefined) entries.set(key, treeOf(member, origin, join(at, key)));
    return new Table(entries, origin, at);
  }
  return new Leaf(value as Scalar, origin, at);
}

/** As `treeOf` for what is known to be a table. */
export function tableOf(value: object, origin: Origin, at = ''): Table {
  return treeOf(value, origin, at) as Table;
}

/** The value that a tree stands for: plain objects, arrays and scalars. */
export function plain(node: Node): unknown {
  if (node instanceof Leaf) return node.value instanceof Date ? node.value.toISOString() : node.value;
  if (node instanceof List) return node.items.map(plain);
  const result: Record<string, unknown> = {};
  for (const [key, member] of node.entries) define(result, key, plain(member));
  return result;
}

export interface Place {
  /** The key in the composed result. */
  readonly path: string;
  readonly file: string;
  /** The key in that file. */
  readonly at: string;
}

/** Every leaf of a tree with where it was written; an empty list or table counts as a leaf. */
export function placesOf(node: Node, path = '', into: Place[] = []): Place[] {
  if (node instanceof List && node.items.length > 0) node.items.forEach((item, n) => placesOf(item, `${path}[${n}]`, into));
  else if (node instanceof Table && node.entries.size > 0)
    for (const [key, member] of node.entries) placesOf(member, join(path, key), into);
  else into.push({ path, file: node.origin.file, at: node.at });
  return into;
}

const BARE = /^[A-Za-z0-9_-]+$/;

/** A key appended to a dotted path; quoted as in TOML when it has to be. */
export function join(path: string, key: string): string {
  const written = BARE.test(key) ? key : JSON.stringify(key);
  return path === '' ? written : `${path}.${written}`;
}

/** Sets a member also when its name is one that objects treat specially. */
function define(target: object, key: string, value: unknown): void {
  if (key === '__proto__') Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
  else (target as Record<string, unknown>)[key] = value;
}
