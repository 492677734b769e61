import { useEffect, useLayoutEffect, useRef, useState, type RefObject } from 'react';

/** Clicks, and keys, this soon after something has moved were meant for what was there before. */
const SETTLED_MS = 250;

/** When each of some things that stand below one another has moved last, by its own doing or by that of others. */
export class Moves {
  #order: readonly string[] | undefined;
  #places: ReadonlyMap<string, number> = new Map();
  #allAt = Number.NEGATIVE_INFINITY;
  readonly #at = new Map<string, number>();

  /**
   * Where one has gone, or stands between others now, keys are for another one. One that comes later than the first look is drawn where something
   * else was, of whatever kind.
   */
  order(ids: readonly string[], now: number): void {
    const before = this.#order ?? ids;
    this.#order = ids;
    if (before.some((id, i) => ids[i] !== id)) this.#allAt = now;
    else if (before.length === ids.length) return;
    const [old, all] = [new Set(before), new Set(ids)];
    for (const id of ids) if (!old.has(id)) this.#at.set(id, now);
    for (const id of this.#at.keys()) if (!all.has(id)) this.#at.delete(id);
  }

  /** Where they are drawn: one that grows moves those beside it. */
  places(places: ReadonlyMap<string, number>, now: number): void {
    for (const [id, place] of places) if ((this.#places.get(id) ?? place) !== place) this.#at.set(id, now);
    this.#places = places;
  }

  /** Something around them was scrolled. */
  scrolled(now: number): void {
    this.#allAt = now;
  }

  /** A key is for the one that has the focus, wherever that is drawn. */
  isSettled(id: string, now: number, by: 'key' | 'pointer'): boolean {
    const own = by === 'key' ? undefined : this.#at.get(id);
    return now - Math.max(this.#allAt, own ?? this.#allAt) >= SETTLED_MS;
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
