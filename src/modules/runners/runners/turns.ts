import { Shares, type ShareLimits } from '../../../platform/turns/shares.js';

/**
 * The next `many` of the lines of some cities: always of the city that has the fewest places here, of those that may have one more;
 * between equals in turn, beginning behind `last`.
 */
export function inTurn<T extends { readonly streamId: number }>(
  waiting: readonly T[],
  held: ReadonlyMap<number, number>,
  { limits, last, many }: { limits: ShareLimits; last: number; many: number },
): T[] {
  const shares = new Shares<number>(limits);
  for (const [city, n] of held) for (let i = 0; i < n; i++) shares.take(city);
  const lines = Map.groupBy(waiting, ({ streamId }) => streamId);
  const cities = [...lines.keys()].sort((a, b) => Number(a <= last) - Number(b <= last) || a - b);
  const chosen: T[] = [];
  while (chosen.length < many) {
    const open = cities.filter((city) => lines.get(city)!.length > 0 && shares.admits(city));
    if (open.length === 0) break;
    const city = open.reduce((best, one) => (shares.of(one) < shares.of(best) ? one : best));
    shares.take(city);
    chosen.push(lines.get(city)!.shift()!);
  }
  return chosen;
}
