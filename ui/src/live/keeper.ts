/** One answer of the service, read again when something has happened that it depends on: never two reads at once, and one more when something came meanwhile. */
export interface Kept<T> {
  readonly data: T | undefined;
  /** Why the last read has failed; what is there is what was there before. */
  readonly error: unknown;
  readonly asOf: number;
  readonly reading: boolean;
}

export interface Waiting {
  readonly wait: (ms: number, then: () => void) => () => void;
  readonly now: () => number;
}

/** Events come in bursts: the first is waited for this long, */
const GATHER_MS = 120;
/** and between two reads the service has its peace. */
const PAUSE_MS = 500;

export class Keeper<T> {
  #state: Kept<T> = { data: undefined, error: undefined, asOf: 0, reading: false };
  readonly #listeners = new Set<() => void>();
  #cancel: (() => void) | undefined;
  #wanted = false;
  #endedAt = Number.NEGATIVE_INFINITY;
  #stop = new AbortController();

  constructor(
    private readonly source: (signal: AbortSignal) => Promise<T>,
    private readonly waiting: Waiting,
    private readonly pauseMs = PAUSE_MS,
  ) {}

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
  readonly snapshot = (): Kept<T> => this.#state;

  /** Now: somebody asks, or begins to look. */
  read(): void {
    this.#soon(0);
  }

  /** Something has happened. */
  touch(): void {
    this.#soon(Math.max(GATHER_MS, this.#endedAt + this.pauseMs - this.waiting.now()));
  }

  /** What an answer of its own has told. */
  put(data: T): void {
    this.#set({ ...this.#state, data });
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#wanted = false;
    this.#stop.abort();
    this.#stop = new AbortController();
    if (this.#state.reading) this.#set({ ...this.#state, reading: false });
  }

  #soon(ms: number): void {
    if (this.#state.reading) {
      this.#wanted = true;
      return;
    }
    if (this.#cancel !== undefined && ms > 0) return;
    this.#cancel?.();
    this.#cancel = this.waiting.wait(ms, () => {
      this.#cancel = undefined;
      void this.#read();
    });
  }

  async #read(): Promise<void> {
    const { signal } = this.#stop;
    this.#wanted = false;
    this.#set({ ...this.#state, reading: true });
    let next: Kept<T>;
    try {
      next = { data: await this.source(signal), error: undefined, asOf: Date.now(), reading: false };
    } catch (error) {
      next = { ...this.#state, error, reading: false };
    }
    if (signal.aborted) return;
    this.#endedAt = this.waiting.now();
    this.#set(next);
    if (this.#wanted) this.touch();
  }

  #set(state: Kept<T>): void {
    this.#state = state;
    for (const tell of this.#listeners) tell();
  }
}
