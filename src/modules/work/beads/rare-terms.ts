const MOST = 1_000;

/**
 * What of cities' labels and metadata has been seen to be rare: lists by it ask the index over terms at once. Only how long an answer takes depends
 * on it, and how exact its `total` is.
 */
export class RareTerms {
  readonly #known = new Set<string>();

  has(streamId: number, names: readonly string[]): boolean {
    return this.#known.has(keyOf(streamId, names));
  }

  /** The one that was noted least lately gives way. */
  note(streamId: number, names: readonly string[], isRare: boolean): void {
    const key = keyOf(streamId, names);
    this.#known.delete(key);
    if (!isRare) return;
    this.#known.add(key);
    if (this.#known.size > MOST) for (const first of this.#known) return void this.#known.delete(first);
  }
}

const keyOf = (streamId: number, names: readonly string[]): string => JSON.stringify([streamId, ...names]);
