import { nextTurn } from './turn-end.js';

/** So long who works for long rests for those who wait for the database: it answers in less, where it gets a processor. */
const REST_MS = 1;

/** Those who wait for the database for somebody who is to be answered, and the rests of those who have work without end. */
export class Asking {
  /** How many wait. */
  now = 0;
  /** Nobody has begun to wait, or has been answered, since a rest was over in vain: those who wait for long, such as for a lock, are not rested for again. */
  #inVain = false;
  /** Until then nobody rests again: whoever has rested works as long, so that no flood of questions takes more than half of the time from him. */
  #workUntil = -Infinity;
  readonly #resting = new Set<() => void>();

  /** Somebody who is to be answered waits for the database now, until `end`. */
  begin(): void {
    this.now++;
    this.#inVain = false;
  }

  end(): void {
    this.now--;
    this.#inVain = false;
    for (const goOn of this.#resting) goOn();
  }

  /**
   * The next turn for whoever has work without end, such as feeding streams. While somebody who is to be answered waits for the database it rests
   * for 1 ms, or until one of them has got its rows: where the database has the same processor, or all of them are busy, it would come to answer only when
   * this work is over. It rests for half of the time at most.
   */
  async restTurn(): Promise<void> {
    const began = performance.now();
    if (this.now > 0 && !this.#inVain && began >= this.#workUntil)
      await new Promise<void>((resolve) => {
        const goOn = (): void => {
          clearTimeout(timer);
          this.#resting.delete(goOn);
          const ended = performance.now();
          this.#workUntil = ended + (ended - began);
          resolve();
        };
        const timer = setTimeout(() => {
          this.#inVain = true;
          goOn();
        }, REST_MS);
        this.#resting.add(goOn);
      });
    await nextTurn();
  }
}

/** Of this process. */
export const asking = new Asking();
