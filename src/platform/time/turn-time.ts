/**
 * How long a turn has taken. What has failed is left out: it comes first again in the next turn, and would keep the others from ever
 * having theirs.
 */
export class TurnTime {
  #began = performance.now();

  constructor(private readonly signal?: AbortSignal) {}

  /** Whether it has taken longer than this, or is to end for another reason. */
  isOver(ms: number): boolean {
    return this.signal?.aborted === true || performance.now() - this.#began > ms;
  }

  /** What began then, and is over now, does not count. */
  leaveOut(since: number): void {
    this.#began += performance.now() - since;
  }
}
