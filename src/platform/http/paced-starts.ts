/** How many begin in one turn of the event loop; between two turns it reads its sockets. */
const STARTS_A_TURN = 4;

/** Begins requests that have waited, a few at a time, first come, first served. */
export class PacedStarts {
  readonly #starts: (() => void)[] = [];

  add(start: () => void): void {
    if (this.#starts.push(start) === 1) setImmediate(() => this.#begin());
  }

  #begin(): void {
    for (const start of this.#starts.splice(0, STARTS_A_TURN)) start();
    if (this.#starts.length > 0) setImmediate(() => this.#begin());
  }
}
