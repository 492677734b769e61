/** Reads things one by one that events only name: each once for all events of a moment, few at a time, again when one came meanwhile. */
const GATHER_MS = 100;
const AT_ONCE = 4;

export class Reader {
  readonly #wanted = new Set<string>();
  readonly #running = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly read: (id: string) => Promise<void>) {}

  want(id: string): void {
    // The newest is read first.
    this.#wanted.delete(id);
    this.#wanted.add(id);
    this.#timer ??= setTimeout(() => this.#go(), GATHER_MS);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#wanted.clear();
  }

  #go(): void {
    this.#timer = undefined;
    for (const id of [...this.#wanted].reverse()) {
      if (this.#running.size >= AT_ONCE) return;
      if (this.#running.has(id)) continue;
      this.#wanted.delete(id);
      this.#running.add(id);
      void this.read(id)
        .catch(() => undefined)
        .finally(() => {
          this.#running.delete(id);
          if (this.#wanted.size > 0) this.#timer ??= setTimeout(() => this.#go(), GATHER_MS);
        });
    }
  }
}
