import type { FailpointAction } from '../../src/platform/failpoints/failpoints.js';

/** A place where callers are held until the test lets them go on, or fail. */
export class HoldingGate {
  readonly #held: { resolve: () => void; reject: (error: Error) => void }[] = [];
  #hits = 0;

  /** To be armed at a failpoint. Holds the first `limit` callers; later ones pass. */
  action(limit = Infinity): FailpointAction {
    return () => {
      if (this.#hits++ >= limit) return;
      return new Promise<void>((resolve, reject) => this.#held.push({ resolve, reject }));
    };
  }

  /** Callers held now. */
  get held(): number {
    return this.#held.length;
  }

  release(): void {
    for (const { resolve } of this.#held.splice(0)) resolve();
  }

  fail(error: Error): void {
    for (const { reject } of this.#held.splice(0)) reject(error);
  }
}
