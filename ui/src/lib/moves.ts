import { useEffect, useLayoutEffect, useRef, useState, type RefObject } from 'react';

/** Clicks, and keys, this soon after something has moved were meant for what was there before. */
const SETTLED_MS = 250;

/** When each of some things that stand below one another has moved last, by its own doing or by that of others. */
export class Moves {
  #order: readonly string[] = [];
  #places: ReadonlyMap<string, number> = new Map();
  #allAt = Number.NEGATIVE_INFINITY;
  readonly #at = new Map<string, number>();

  /** Where one has gone, or stands between others now, keys are for another one. */
  order(ids: readonly string[], now: number): void {
    if (this.#order.some((id, i) => ids[i] !== id)) this.#allAt = now;
    this.#order = ids;
  }

  /** Where they are drawn: one that grows moves those beside it, and one that comes with that may be where another was. */
  places(places: ReadonlyMap<string, number>, now: number): void {
    const moved = [...places].filter(([id, place]) => (this.#places.get(id) ?? place) !== place);
    const come = moved.length === 0 ? [] : [...places].filter(([id]) => !this.#places.has(id));
    for (const id of this.#at.keys()) if (!places.has(id)) this.#at.delete(id);
    for (const [id] of [...moved, ...come]) this.#at.set(id, now);
    this.#places = places;
  }

  isSettled(id: string, now: number): boolean {
    return now - Math.max(this.#allAt, this.#at.get(id) ?? this.#allAt) >= SETTLED_MS;
  }
}

/**
 * Looks how the children that are marked with `data-ask` move in what `list` is given to: `ids` are theirs, in their order. `edge` is that of each
 * which stays where it is when it grows itself.
 */
export function useMoves(
  ids: readonly string[],
  edge: 'top' | 'bottom',
): { readonly moves: Moves; readonly list: RefObject<HTMLDivElement | null> } {
  const [moves] = useState(() => new Moves());
  const list = useRef<HTMLDivElement>(null);
  const now = useRef(ids);
  useLayoutEffect(() => {
    now.current = ids;
    moves.order(ids, performance.now());
  });
  useEffect(() => {
    const box = list.current;
    if (box === null) return undefined;
    const watch = new ResizeObserver(() => {
      const cards = [...box.querySelectorAll<HTMLElement>('[data-ask]')].slice(0, now.current.length);
      const placeOf = ({ offsetTop, offsetHeight }: HTMLElement): number => (edge === 'top' ? offsetTop : offsetTop + offsetHeight);
      moves.places(new Map(cards.map((card, i) => [now.current[i]!, placeOf(card)])), performance.now());
    });
    watch.observe(box);
    return () => watch.disconnect();
  }, [moves, edge]);
  return { moves, list };
}
