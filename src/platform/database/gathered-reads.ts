import { problem } from '../../contract/problems.js';
import { workFor } from '../turns/working.js';

export interface GatheringLimits {
  /** Keys of one statement. */
  readonly most?: number;
  /** Statements at once. */
  readonly lanes?: number;
}

const MOST = 500;
const MOST_WAITING = 10_000;

/**
 * Reads rows by a key: one statement for all who ask while the ones before it are under way, on a connection of the process's own. It is for
 * rows that cost all callers alike and little, so that nobody has to take turns: those of callers who are not known yet, and those that nearly
 * every request reads. Every answer was read after its question.
 */
export class GatheredReads<Key extends string | number, Row> {
  #waiting = new Map<Key, PromiseWithResolvers<Row | undefined>>();
  readonly #most: number;
  readonly #lanes: number;
  #reading = 0;

  constructor(
    private readonly load: (keys: readonly Key[]) => Promise<readonly (readonly [Key, Row])[]>,
    { most = MOST, lanes = 1 }: GatheringLimits = {},
  ) {
    this.#most = most;
    this.#lanes = lanes;
  }

  /** @throws ProblemError unavailable when too many wait; what the load throws */
  async read(key: Key): Promise<Row | undefined> {
    const asked = this.#waiting.get(key);
    if (asked !== undefined) return asked.promise;
    if (this.#waiting.size >= MOST_WAITING) throw problem('unavailable', 'too many requests wait for the database here, try again');
    const asking = Promise.withResolvers<Row | undefined>();
    this.#waiting.set(key, asking);
    if (this.#reading < this.#lanes) void workFor(undefined, () => this.#readAll());
    return asking.promise;
  }

  async #readAll(): Promise<void> {
    this.#reading++;
    while (this.#waiting.size > 0) {
      const batch = this.#next();
      try {
        const rows = new Map(await this.load(batch.map(([key]) => key)));
        for (const [key, { resolve }] of batch) resolve(rows.get(key));
      } catch (error) {
        for (const [, { reject }] of batch) reject(error);
      }
    }
    this.#reading--;
  }

  /** Those that have waited longest. */
  #next(): [Key, PromiseWithResolvers<Row | undefined>][] {
    const all = this.#waiting;
    if (all.size <= this.#most) {
      // A table that lives long keeps what it had: see `Slots`.
      this.#waiting = new Map();
      return [...all];
    }
    const batch: [Key, PromiseWithResolvers<Row | undefined>][] = [];
    for (const waiting of all) {
      if (batch.push(waiting) === this.#most) break;
    }
    for (const [key] of batch) all.delete(key);
    return batch;
  }
}
