/**
 * By how many places what is in sight has moved, where most of it has moved alike: what came or went was above it. Where it has another
 * order there is no such number, and nothing to hold still.
 */
export function movedBy(was: readonly string[], now: readonly string[], first: number, count: number): number {
  const places = new Map(now.map((id, place) => [id, place]));
  const seen = was.slice(first, first + count);
  const moves = new Map<number, number>();
  for (const [i, id] of seen.entries()) {
    const place = places.get(id);
    if (place !== undefined) moves.set(place - first - i, (moves.get(place - first - i) ?? 0) + 1);
  }
  for (const [by, how] of moves) if (how * 2 > seen.length) return by;
  return 0;
}
