/** `container` holds `member`. */
export interface Holding {
  readonly container: string;
  readonly member: string;
}

/** The way in which `convoy` would hold itself once it holds `items`: it first and last. `holdings` are those above the convoy. */
export function circle(convoy: string, items: readonly string[], holdings: readonly Holding[]): string[] | undefined {
  const wanted = new Set(items);
  if (wanted.has(convoy)) return [convoy, convoy];
  const below = new Map<string, string>();
  const holders = Map.groupBy(holdings, ({ member }) => member);
  for (let level = new Set([convoy]); level.size > 0;) {
    const around = [...level].flatMap((member) => holders.get(member) ?? []);
    const above = around.filter(({ container }) => container !== convoy && !below.has(container));
    for (const { container, member } of above) below.set(container, member);
    const found = above.find(({ container }) => wanted.has(container))?.container;
    if (found !== undefined) return [convoy, ...downFrom(found, below), convoy];
    level = new Set(above.map(({ container }) => container));
  }
  return undefined;
}

function downFrom(start: string, below: ReadonlyMap<string, string>): string[] {
  const way: string[] = [];
  for (let at: string | undefined = start; at !== undefined && below.has(at); at = below.get(at)) way.push(at);
  return way;
}
