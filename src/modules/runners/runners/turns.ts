import { Shares, type ShareLimits } from '../../../platform/turns/shares.js';

/** Who has how many of some places, by the city's stream, and what each may have of them. */
export interface Places {
  readonly held: ReadonlyMap<number, number>;
  readonly limits: ShareLimits;
}

/**
 * The next `many` of the lines of some cities: always of the city that has the fewest places here, of those that may have one more, also among the
 * starts in progress; between equals in turn, beginning behind `last`.
 */
export function inTurn<T extends { readonly streamId: number }>(
  waiting: readonly T[],
  places: Places,
  { starts, last, many }: { starts?: Places | undefined; last: number; many: number },
): T[] {
  const shares = sharesOf(places);
  const started = starts && sharesOf(starts);
  const lines = Map.groupBy(waiting, ({ streamId }) => streamId);
  const cities = [...lines.keys()].sort((a, b) => Number(a <= last) - Number(b <= last) || a - b);
  const chosen: T[] = [];
  while (chosen.length < many) {
    const open = cities.filter((city) => lines.get(city)!.length > 0 && shares.admits(city) && started?.admits(city) !== false);
    if (open.length === 0) break;
    const city = open.reduce((best, one) => (shares.of(one) < shares.of(best) ? one : best));
    shares.take(city);
    started?.take(city);
    chosen.push(lines.get(city)!.shift()!);
  }
  return chosen;
}

function sharesOf({ held, limits }: Places): Shares<number> {
  const shares = new Shares<number>(limits);
  for (const [city, n] of held) for (let i = 0; i < n; i++) shares.take(city);
  return shares;
}
