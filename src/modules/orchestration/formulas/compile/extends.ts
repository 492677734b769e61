import type { Compose, Formula, Step, Where } from './formula.js';

type Rule<K extends keyof Formula> = (own: Formula, parents: readonly Formula[]) => Formula[K];

/** What a formula says itself, else what the first parent that says something does. */
function first<T>(own: Formula, parents: readonly Formula[], of: (formula: Formula) => T | undefined): T | undefined {
  for (const formula of [own, ...parents]) {
    const value = of(formula);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** All of them, parents in their order before the formula itself; what two parents have from a common one counts once. */
function all<T extends { readonly where: Where }>(own: Formula, parents: readonly Formula[], of: (formula: Formula) => readonly T[]): T[] {
  const byPlace = new Map<string, T>();
  for (const formula of [...parents, own]) for (const item of of(formula)) byPlace.set(`${item.where.file}\0${item.where.key}`, item);
  return [...byPlace.values()];
}

/** How each key of a formula comes from its own file and from those of its parents. */
export const MERGE: { readonly [K in keyof Required<Formula>]: Rule<K> } = {
  source: (own) => own.source,
  name: (own) => own.name,
  type: (own) => own.type,
  extends: (own) => own.extends,
  description: (own, parents) => first(own, parents, ({ description }) => (description === '' ? undefined : description)) ?? '',
  compilers: (own, parents) => all(own, parents, ({ compilers }) => compilers),
  vars: (own, parents) => new Map([...parents.toReversed(), own].flatMap(({ vars }) => [...vars])),
  steps: (own, parents) => [...parents, own].reduce<readonly Step[]>((steps, formula) => laid(steps, formula.steps), []),
  template: (own, parents) => [...parents, own].reduce<readonly Step[]>((steps, formula) => laid(steps, formula.template), []),
  compose: (own, parents) => composed(own, parents),
  advice: (own, parents) => all(own, parents, ({ advice }) => advice),
  phase: (own, parents) => first(own, parents, ({ phase }) => phase),
  pour: (own, parents) => [own, ...parents].some(({ pour }) => pour),
  catalog: (own, parents) => ({ ...parents.toReversed().reduce((under, { catalog }) => ({ ...under, ...catalog }), {}), ...own.catalog }),
  metadata: (own, parents) => [...parents.toReversed(), own].reduce<Tree>((under, { metadata }) => deep(under, metadata), {}),
};

/** A formula with what it has from its parents. */
export function merged(own: Formula, parents: readonly Formula[]): Formula {
  if (parents.length === 0) return own;
  return Object.fromEntries(
    Object.entries(MERGE).map(([key, rule]) => [key, (rule as Rule<keyof Formula>)(own, parents)]),
  ) as unknown as Formula;
}

/** Steps over others: one of the same id stands in its place, wherever that is, the rest comes after all. */
function laid(under: readonly Step[], over: readonly Step[]): readonly Step[] {
  const byId = new Map(over.map((step) => [step.id, step]));
  const placed = new Set<string>();
  const replace = (steps: readonly Step[]): Step[] =>
    steps.map((step) => {
      const found = byId.get(step.id);
      if (found === undefined) return step.children.length === 0 ? step : { ...step, children: replace(step.children) };
      placed.add(step.id);
      return found;
    });
  const steps = replace(under);
  return [...steps, ...over.filter(({ id }) => !placed.has(id))];
}

function composed(own: Formula, parents: readonly Formula[]): Compose {
  const list = <T extends { readonly where: Where }>(of: (compose: Compose) => readonly T[]): T[] =>
    all(own, parents, ({ compose }) => of(compose));
  const byName = <T>(items: readonly T[], name: (item: T) => string): T[] => [...new Map(items.map((item) => [name(item), item])).values()];
  // What a formula says of a step is said instead of what its parents say of it. At a bond point each puts something.
  const instead = <T extends { readonly where: Where }>(items: readonly T[], key: (item: T) => string | undefined): T[] => {
    const isOwn = ({ where }: T): boolean => where.file === own.source.file;
    const said = new Set(items.filter(isOwn).map(key));
    return items.filter((item) => isOwn(item) || key(item) === undefined || !said.has(key(item)));
  };
  const bondPoints = byName(
    list(({ bondPoints: points }) => points),
    ({ id }) => id,
  );
  const points = new Set(bondPoints.map(({ id }) => id));
  return {
    expand: instead(
      list(({ expand }) => expand),
      ({ target }) => (points.has(target) ? undefined : target),
    ),
    map: list(({ map }) => map),
    branch: list(({ branch }) => branch),
    gate: instead(
      list(({ gate }) => gate),
      ({ before }) => before,
    ),
    aspects: byName(
      list(({ aspects }) => aspects),
      ({ name }) => name,
    ),
    bondPoints,
  };
}

type Tree = Readonly<Record<string, unknown>>;

function deep(under: Tree, over: Tree): Tree {
  const result = new Map(Object.entries(under));
  for (const [key, value] of Object.entries(over)) {
    const below = result.get(key);
    result.set(key, isTree(below) && isTree(value) ? deep(below, value) : value);
  }
  return Object.fromEntries(result);
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
