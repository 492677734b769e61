const GATHER_MS = 100;
const LEAST_MS = 1_000;
const MOST_MS = 30_000;

/**
 * Reads something again: once for all who want it while a read goes on, and later each time while reads fail. What an event has only
 * named nobody else brings.
 */
export class Again {
  #round = 0;
  /** A read goes on, or its time will come. */
  #busy = false;
  #reads = false;
  #wanted = false;
  #pauseMs = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /**
   * @param read tells whether it is to be tried again.
   * @param rest for how long it is left alone after each read, whatever happens.
   */
  constructor(
    private readonly read: () => Promise<boolean>,
    private readonly later: (go: () => void, ms: number) => ReturnType<typeof setTimeout> = (go, ms) => setTimeout(go, ms),
    private readonly rest: () => number = () => 0,
  ) {}

  /** What waits for its time is read now, and nothing rests any longer: the next one who wants it reads at once. */
  hurry(): void {
    if (this.#wanted) return this.want(true);
    if (this.#reads) return;
    clearTimeout(this.#timer);
    this.#busy = false;
  }

  /** @param anew also in the place of a read that goes on, which may be of a connection that is gone. */
  want(anew = false): void {
    this.#wanted = true;
    if (this.#busy && !anew) return;
    clearTimeout(this.#timer);
    void this.#go();
  }

  async #go(): Promise<void> {
    const round = ++this.#round;
    this.#busy = true;
    this.#reads = true;
    this.#wanted = false;
    const failed = await this.read();
    if (round !== this.#round) return;
    this.#reads = false;
    this.#wanted ||= failed;
    this.#pauseMs = failed ? Math.min(MOST_MS, Math.max(LEAST_MS, this.#pauseMs * 2)) : 0;
    const restMs = this.rest();
    this.#busy = this.#wanted || restMs > 0;
    if (!this.#busy) return;
    const due = (): void => {
      if (this.#wanted) void this.#go();
      else this.#busy = false;
    };
    this.#timer = this.later(due, Math.max(GATHER_MS, this.#pauseMs, restMs));
  }
}

/** Of a list, until a read brings it, unless `barred` says that it is refused for good. */
export const againOf = (
  list: { readonly read: () => Promise<void>; readonly error: unknown },
  barred: (error: unknown) => boolean,
  later?: (go: () => void, ms: number) => ReturnType<typeof setTimeout>,
  rest?: () => number,
): Again =>
  new Again(
    async () => {
      await list.read();
      return list.error !== undefined && !barred(list.error);
    },
    later,
    rest,
  );
