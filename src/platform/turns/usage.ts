/** Length of a window. Two windows are remembered, and the older one counts less and less. */
const WINDOW_MS = 5_000;

interface Window {
  readonly used: Map<string, number>;
  all: number;
  /** The usage of the owner that has used the most. */
  most: number;
  /** Owners that were not in the window before. */
  added: number;
}

const emptied = (): Window => ({ used: new Map(), all: 0, most: 0, added: 0 });

/**
 * How long owners have recently had something that they share, in milliseconds. It tells owners that use much from owners whose requests have only piled up
 * while they waited.
 */
export class Usage {
  #now = emptied();
  #before = emptied();
  #since: number;

  constructor(private readonly clock: () => number = () => performance.now()) {
    this.#since = clock();
  }

  add(owner: string, ms: number): void {
    this.#turn();
    const { used } = this.#now;
    if (!used.has(owner) && !this.#before.used.has(owner)) this.#now.added++;
    const sum = (used.get(owner) ?? 0) + ms;
    used.set(owner, sum);
    this.#now.all += ms;
    this.#now.most = Math.max(this.#now.most, sum);
  }

  /** Whether an owner has used at least the average, and at least half as much as the owner that has used the most. */
  isMuch(owner: string): boolean {
    const left = 1 - this.#turn() / WINDOW_MS;
    const [before, now] = [this.#before, this.#now];
    const used = (before.used.get(owner) ?? 0) * left + (now.used.get(owner) ?? 0);
    const owners = before.used.size + now.added;
    return used * owners >= before.all * left + now.all && 2 * used >= before.most * left + now.most;
  }

  /** Milliseconds that the window has lasted. */
  #turn(): number {
    const lasted = this.clock() - this.#since;
    if (lasted < WINDOW_MS) return lasted;
    this.#before = lasted < 2 * WINDOW_MS ? this.#now : emptied();
    this.#now = emptied();
    this.#since += Math.floor(lasted / WINDOW_MS) * WINDOW_MS;
    return lasted % WINDOW_MS;
  }
}
