/** How many begin in one turn of the event loop; between two turns it reads its sockets. */
const STARTS_A_TURN = 4;
/** A request that takes long is followed by a rest for others, as long as it took, but no longer than this. */
const MAX_REST_MS = 10;

/**
 * Begins requests that have waited, a few at a time, first come, first served. A request that takes long begins alone, owners in turn, and is followed by a
 * rest: large bodies that arrive together would otherwise be parsed in a row, and all other requests would wait for the last of them.
 */
export class PacedStarts {
  readonly #starts: (() => void)[] = [];
  readonly #long = new Map<string, (() => void)[]>();
  #isPaced = false;
  #rests = false;

  add(start: () => void): void {
    this.#starts.push(start);
    this.#pace();
  }

  addLong(owner: string, start: () => void): void {
    const line = this.#long.get(owner);
    if (line === undefined) this.#long.set(owner, [start]);
    else line.push(start);
    if (!this.#rests) this.#pace();
  }

  #pace(): void {
    if (this.#isPaced) return;
    this.#isPaced = true;
    setImmediate(() => this.#begin());
  }

  #begin(): void {
    this.#isPaced = false;
    for (const start of this.#starts.splice(0, STARTS_A_TURN)) start();
    if (!this.#rests) this.#beginLong();
    if (this.#starts.length > 0) this.#pace();
  }

  #beginLong(): void {
    const [next] = this.#long;
    if (next === undefined) return;
    const [owner, line] = next;
    const start = line.shift()!;
    this.#long.delete(owner);
    if (line.length > 0) this.#long.set(owner, line);
    this.#rests = true;
    const since = performance.now();
    // By then its body is parsed and checked.
    setImmediate(() => setTimeout(() => this.#rested(), Math.min(performance.now() - since, MAX_REST_MS)));
    start();
  }

  #rested(): void {
    this.#rests = false;
    if (this.#long.size > 0) this.#pace();
  }
}
