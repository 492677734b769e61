/** Too many wait already, or it took too long until there was a place. */
export class NoTurn extends Error {
  override readonly name = 'NoTurn';
}

interface Waiting {
  readonly go: () => void;
  readonly timer: NodeJS.Timeout;
}

/**
 * Gives out a few places: owners take turns, and each has one place at a time. So whoever asks for much waits for itself, and
 * the others for what they would wait for anyway.
 */
export class Turns {
  /** By owner; whose turn is next comes first. */
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #running = new Set<string>();

  constructor(
    private readonly places: number,
    /** How many may wait of one owner, and how long in milliseconds. */
    private readonly most: number,
    private readonly waitMs: number,
  ) {}

  /** Waits for a place. What is answered gives it back. @throws NoTurn */
  async take(owner: string): Promise<() => void> {
    if (this.#running.has(owner) || this.#running.size >= this.places) await this.#wait(owner);
    else this.#running.add(owner);
    return () => {
      this.#running.delete(owner);
      this.#next();
    };
  }

  #wait(owner: string): Promise<void> {
    const line = this.#waiting.get(owner) ?? [];
    if (line.length >= this.most) throw new NoTurn('too much of it waits already');
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        line.splice(line.indexOf(waiting), 1);
        if (line.length === 0) this.#waiting.delete(owner);
        reject(new NoTurn('others took too long'));
      }, this.waitMs).unref();
      const waiting = { go: resolve, timer };
      line.push(waiting);
      this.#waiting.set(owner, line);
    });
  }

  #next(): void {
    for (const [owner, line] of this.#waiting) {
      if (this.#running.size >= this.places) return;
      if (this.#running.has(owner)) continue;
      const { go, timer } = line.shift()!;
      clearTimeout(timer);
      // Whoever had a turn goes to the end.
      this.#waiting.delete(owner);
      if (line.length > 0) this.#waiting.set(owner, line);
      this.#running.add(owner);
      go();
    }
  }
}
