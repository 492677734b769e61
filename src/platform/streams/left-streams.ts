import type { EpochEnds } from '../event-log/epochs.js';
import { LATELY_MS } from '../event-log/event-log.js';
import { COMPOSITE_LIMIT } from './positions.js';

/** A stream that has left the feed, and how far the feed has published it. */
export interface Left {
  readonly name: string;
  readonly head: number;
  readonly ends: EpochEnds;
}

/** The positions of streams that have left the feed. The feed goes on from there when they come back. */
export class LeftStreams {
  readonly #left = new Map<number, Left>();
  /** The streams that left last. They may append more, so composite ids go on naming them. */
  #lately: readonly { readonly id: number; readonly at: number }[] = [];

  constructor(private readonly streams: { has(id: number): boolean }) {}

  get(id: number): Left | undefined {
    return this.#left.get(id);
  }

  /** As `remember`, but not among those that left last: of streams that joined and left there may be thousands. */
  set(id: number, left: Left): void {
    this.#left.set(id, left);
  }

  /** If the stream appends more, or comes back, the feed goes on at this position. */
  remember(id: number, left: Left): void {
    this.#left.set(id, left);
    this.#lately = [...this.#lately.filter((one) => one.id !== id), { id, at: performance.now() }].slice(-COMPOSITE_LIMIT);
  }

  /** Streams that may still append events, a few at the most. */
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
