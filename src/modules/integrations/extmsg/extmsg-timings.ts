/** Times in milliseconds, so that tests can shorten them. */
export class ExtmsgTimings {
  /** One call of an adapter, from the look at its address to the last byte of its answer. */
  readonly callMs: number = 30_000;
  /** How long a request waits for what comes of its publication. */
  readonly answerMs: number = 30_000;
  /** How long a publication is tried. */
  readonly lifeMs: number = 15 * 60_000;
  /** How often it is tried. */
  readonly attempts: number = 10;
  /** The first pause between two tries; each is twice the one before, up to `longestMs`. */
  readonly pauseMs: number = 1_000;
  readonly longestMs: number = 60_000;
  readonly pollMs: number = 1_000;
  /** How long a publication waits for a client that connects. */
  readonly streamLifeMs: number = 24 * 3_600_000;
  /** How long a client has a publication to itself before it is offered again, and how often it is. */
  readonly claimMs: number = 30_000;
  readonly offers: number = 20;
  /** How long a connection counts without a renewal by its replica, and how often it is renewed. */
  readonly connectionMs: number = 15_000;
  readonly renewMs: number = 2_000;

  constructor(overrides: Partial<ExtmsgTimings> = {}) {
    Object.assign(this, overrides);
  }

  pauseAfter(attempts: number): number {
    return Math.min(this.longestMs, this.pauseMs * 2 ** Math.min(attempts - 1, 20));
  }
}
