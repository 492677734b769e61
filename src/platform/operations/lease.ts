import { LONGEST_TIMER_MS } from '../time/clock.js';

/** Why a worker has to stop working on an operation. */
export type LeaseEnd = 'lost' | 'deadline' | 'stopping';

/** The signal's reason when a handler is told to stop. */
export class OperationAborted extends Error {
  constructor(readonly why: LeaseEnd) {
    super(`operation aborted: ${why}`);
  }
}

/**
 * The right to work on one claimed operation: renewed until closed, and over at the deadline, when the process
 * stops, or when a renewal finds that somebody else holds the operation or cannot be made in time.
 */
export class Lease {
  readonly ended: Promise<LeaseEnd>;
  /** A step was done under it, so that this attempt counts as the first. */
  advanced = false;
  readonly #controller = new AbortController();
  #end!: (why: LeaseEnd) => void;
  #why: LeaseEnd | undefined;
  #expiry: NodeJS.Timeout | undefined;
  #deadline: NodeJS.Timeout | undefined;
  readonly #renewal: NodeJS.Timeout;
  #renewing = false;

  constructor(
    private readonly renew: () => Promise<boolean>,
    private readonly times: { readonly leaseMs: number; readonly renewMs: number },
    deadlineMs: number,
  ) {
    this.ended = new Promise((resolve) => (this.#end = resolve));
    this.#renewal = setInterval(() => void this.#renew(), times.renewMs);
    this.#validFor(times.leaseMs);
    this.deadlineIn(deadlineMs);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** False once the operation belongs, or may belong, to somebody else. */
  get held(): boolean {
    return this.#why !== 'lost';
  }

  deadlineIn(ms: number): void {
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(() => this.end('deadline'), Math.min(Math.max(ms, 0), LONGEST_TIMER_MS));
  }

  /** The first reason counts, except that a lost lease outranks every other. */
  end(why: LeaseEnd): void {
    if (this.#why === undefined) {
      this.#why = why;
      this.#controller.abort(new OperationAborted(why));
      this.#end(why);
    } else if (why === 'lost') this.#why = why;
    if (why === 'lost') this.close();
  }

  /** Ends the renewals. The row keeps whatever lease it has. */
  close(): void {
    clearInterval(this.#renewal);
    clearTimeout(this.#expiry);
    clearTimeout(this.#deadline);
  }

  #validFor(ms: number): void {
    clearTimeout(this.#expiry);
    this.#expiry = setTimeout(() => this.end('lost'), ms);
  }

  async #renew(): Promise<void> {
    if (this.#renewing) return;
    this.#renewing = true;
    const asked = performance.now();
    try {
      if (await this.renew()) {
        if (this.held) this.#validFor(Math.max(0, this.times.leaseMs - (performance.now() - asked)));
      } else this.end('lost');
    } catch {
      // The database does not answer: the next round tries again until the lease has run out.
    } finally {
      this.#renewing = false;
    }
  }
}
