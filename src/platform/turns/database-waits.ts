import { nextTurn } from './turn-end.js';

/** How long background work pauses for requests that wait for the database, where these may need the same processor. */
const PAUSE_MS = 1;

/**
 * Counts the requests of this process that wait for the database, and lets work without end (feeding streams) pause for them. Where the database
 * has the same processor, or all processors are busy, it would answer only when that work is over.
 */
export class DatabaseWaits {
  /** How many wait now. */
  count = 0;
  /** The last pause ran its full time, and no wait has begun or ended since: what remains are long waits, as for a lock, which get no second pause. */
  #inVain = false;
  /** No pause before this: after a pause work goes on for as long, so that a flood of requests takes at most half of its time. */
  #workUntil = -Infinity;
  readonly #paused = new Set<() => void>();

  /** A request waits for the database from now on, until `end`. */
  begin(): void {
    this.count++;
    this.#inVain = false;
  }

  end(): void {
    this.count--;
    this.#inVain = false;
    for (const goOn of this.#paused) goOn();
  }

  /**
   * Yields the event loop. While requests wait for the database it also pauses, until one of them has its rows and for 1 ms at most.
   */
  async yieldTurn(): Promise<void> {
    const began = performance.now();
    if (this.count > 0 && !this.#inVain && began >= this.#workUntil)
      await new Promise<void>((resolve) => {
        const goOn = (): void => {
          clearTimeout(timer);
          this.#paused.delete(goOn);
          const ended = performance.now();
          this.#workUntil = ended + (ended - began);
          resolve();
        };
        const timer = setTimeout(() => {
          this.#inVain = true;
          goOn();
        }, PAUSE_MS);
        this.#paused.add(goOn);
      });
    await nextTurn();
  }
}

/** The waits of this process. */
export const databaseWaits = new DatabaseWaits();
