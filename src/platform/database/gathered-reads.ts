import { problem } from '../../contract/problems.js';
import { workFor } from '../turns/working.js';

/** Of one statement. */
const MOST = 500;
const MOST_WAITING = 10_000;

/**
 * Reads rows by a key for callers of whom nobody knows yet who they are, so that they can take no turns: one statement at a time for all of them,
 * whose connection is the process's own. However many there are, they take one connection. Every answer was read after its question.
 */
export class GatheredReads<Key extends string | number, Row> {
  readonly #waiting = new Map<Key, PromiseWithResolvers<Row | undefined>>();
  #isReading = false;

  constructor(private readonly load: (keys: readonly Key[]) => Promise<readonly (readonly [Key, Row])[]>) {}

  /** @throws ProblemError unavailable when too many wait; what the load throws */
  async read(key: Key): Promise<Row | undefined> {
    const asked = this.#waiting.get(key);
    if (asked !== undefined) return asked.promise;
    if (this.#waiting.size >= MOST_WAITING) throw problem('unavailable', 'too many callers wait to be recognised here, try again');
    const asking = Promise.withResolvers<Row | undefined>();
    this.#waiting.set(key, asking);
    if (!this.#isReading) void workFor(undefined, () => this.#readAll());
    return asking.promise;
  }

  async #readAll(): Promise<void> {
    this.#isReading = true;
    while (this.#waiting.size > 0) {
      const batch = this.#next();
      try {
        const rows = new Map(await this.load(batch.map(([key]) => key)));
        for (const [key, { resolve }] of batch) resolve(rows.get(key));
      } catch (error) {
        for (const [, { reject }] of batch) reject(error);
      }
    }
    this.#isReading = false;
  }

  /** Those that have waited longest. */
  #next(): [Key, PromiseWithResolvers<Row | undefined>][] {
    const batch: [Key, PromiseWithResolvers<Row | undefined>][] = [];
    for (const waiting of this.#waiting) {
      if (batch.push(waiting) === MOST) break;
    }
    for (const [key] of batch) this.#waiting.delete(key);
    return batch;
  }
}
