/** Too many wait already, or the wait took too long. */
export class NoTurn extends Error {
  override readonly name = 'NoTurn';
}

/** The amount of a budget that one owner has. */
export interface Share {
  /** Keeps no more than this much of it. */
  shrink(amount: number): void;
  /** Gives all of it back; may be called again. */
  giveBack(): void;
}

interface Waiting {
  readonly amount: number;
  readonly go: (share: Share) => void;
  readonly timer: NodeJS.Timeout;
}

/**
 * An amount of something (threads, bytes) that owners share. They take turns, and each has one share at a time: an owner that asks for much waits for its own
 * shares, and others wait no longer for it. An owner that wants more than there is gets all of it. No owner is overtaken because it wants more than
 * others. Requests use `Turns` instead, whose ceilings depend on who else is present.
 */
export class Budget {
  /** By owner, in the order of their turns. */
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #held = new Map<string, number>();
  #left: number;

  constructor(
    private readonly whole: number,
    /** How many may wait of one owner, and how long in milliseconds. */
    private readonly most: number,
    private readonly waitMs: number,
  ) {
    this.#left = whole;
  }

  /** Waits for its turn, and until there is so much. @throws NoTurn */
  async take(owner: string, amount = 1): Promise<Share> {
    const wanted = Math.min(amount, this.whole);
    if (this.#held.has(owner) || this.#waiting.size > 0 || wanted > this.#left) return this.#wait(owner, wanted);
    return this.#give(owner, wanted);
  }

  #give(owner: string, amount: number): Share {
    this.#held.set(owner, amount);
    this.#left -= amount;
    const shrink = (to: number): void => {
      if (amount <= to) return;
      this.#left += amount - to;
      amount = to;
      this.#next();
    };
    let isOver = false;
    return {
      shrink,
      giveBack: () => {
        if (isOver) return;
        isOver = true;
        this.#held.delete(owner);
        shrink(0);
        this.#next();
      },
    };
  }

  #wait(owner: string, amount: number): Promise<Share> {
    const line = this.#waiting.get(owner) ?? [];
    if (line.length >= this.most) throw new NoTurn('too much of it waits already');
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        line.splice(line.indexOf(waiting), 1);
        if (line.length === 0) this.#waiting.delete(owner);
        reject(new NoTurn('others took too long'));
        this.#next();
      }, this.waitMs).unref();
      const waiting = { amount, go: resolve, timer };
      line.push(waiting);
      this.#waiting.set(owner, line);
      this.#next();
    });
  }

  #next(): void {
    for (const [owner, line] of this.#waiting) {
      if (this.#held.has(owner)) continue;
      const { amount, go, timer } = line[0]!;
      if (amount > this.#left) return;
      line.shift();
      clearTimeout(timer);
      // An owner that had a turn goes to the end.
      this.#waiting.delete(owner);
      if (line.length > 0) this.#waiting.set(owner, line);
      go(this.#give(owner, amount));
    }
  }
}
