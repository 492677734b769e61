import type { EpochEnds } from '../event-log/epochs.js';
import { LATELY_MS } from '../event-log/event-log.js';
import { COMPOSITE_LIMIT } from './positions.js';

/** A stream that has left the feed, and how far it was given to it. */
export interface Left {
  readonly name: string;
  readonly head: number;
  readonly ends: EpochEnds;
}

/** Where a feed left the streams that are no part of it now; it goes on from there when they come back. */
export class LeftStreams {
  readonly #left = new Map<number, Left>();
  /** Those of them that left last. They may say more, so ids of few streams go on to name them. */
  #lately: readonly { readonly id: number; readonly at: number }[] = [];

  constructor(private readonly streams: { has(id: number): boolean }) {}

  get(id: number): Left | undefined {
    return this.#left.get(id);
  }

  /** Without a place among those that have left just now: of those that came and went there may be thousands. */
  set(id: number, left: Left): void {
    this.#left.set(id, left);
  }

  /** Should a stream say more, or come back, the feed goes on here. */
  remember(id: number, left: Left): void {
    this.#left.set(id, left);
    this.#lately = [...this.#lately.filter((one) => one.id !== id), { id, at: performance.now() }].slice(-COMPOSITE_LIMIT);
  }

  /** Those that may still say something, a few at the most. */
  *lately(): Iterable<readonly [number, Left]> {
    for (const { id, at } of this.#lately) {
      const left = this.#left.get(id);
      if (left !== undefined && !this.streams.has(id) && performance.now() - at < LATELY_MS) yield [id, left];
    }
  }

  clear(): void {
    this.#left.clear();
    this.#lately = [];
  }
}
