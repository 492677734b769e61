import { Shares, type ShareLimits } from '../../../platform/turns/shares.js';

/** Who has how many of some places, by the city's stream, and what each may have of them. */
export interface Places {
  readonly held: ReadonlyMap<number, number>;
  readonly limits: ShareLimits;
}

/** Starts in progress. */
export interface Starts extends Places {
  /** Slow ones have all places: others begin beside them, and only what one city may have counts. */
  readonly isFull: boolean;
}

/**
 * The next `many` of the lines of some cities: always of the city that has the fewest places here, of those that may have one more, also among the
 * starts in progress; between equals in turn, beginning behind `last`. Beside slow starts it is the city with the fewest of these.
 */
export function inTurn<T extends { readonly streamId: number }>(
  waiting: readonly T[],
  places: Places,
  { starts, last, many }: { starts: Starts; last: number; many: number },
): T[] {
  const shares = sharesOf(places);
  const started = sharesOf(starts);
  const mayStart = (city: number): boolean => (starts.isFull ? started.of(city) < starts.limits.perCity : started.admits(city));
  const ranks = starts.isFull ? started : shares;
  const lines = Map.groupBy(waiting, ({ streamId }) => streamId);
  const cities = [...lines.keys()].sort((a, b) => Number(a <= last) - Number(b <= last) || a - b);
  const chosen: T[] = [];
  while (chosen.length < many) {
    const open = cities.filter((city) => lines.get(city)!.length > 0 && shares.admits(city) && mayStart(city));
    if (open.length === 0) break;
    const city = open.reduce((best, one) => (ranks.of(one) < ranks.of(best) ? one : best));
    shares.take(city);
    started.take(city);
    chosen.push(lines.get(city)!.shift()!);
  }
  return chosen;
}

function sharesOf({ held, limits }: Places): Shares<number> {
  const shares = new Shares<number>(limits);
  for (const [city, n] of held) for (let i = 0; i < n; i++) shares.take(city);
  return shares;
}
