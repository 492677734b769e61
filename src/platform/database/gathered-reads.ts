import { problem } from '../../contract/problems.js';
import { preparing } from '../turns/preparing.js';
import { databaseWaits } from '../turns/database-waits.js';
import { workFor } from '../turns/working.js';

export interface GatheringLimits {
  /** Keys of one statement. */
  readonly most?: number;
  /** Statements at once. */
  readonly lanes?: number;
}

const MOST = 500;
const MOST_WAITING = 10_000;
/** Fewer are not worth a statement beside the one under way: with 32 callers two small ones took a fifth more of the processor than one. */
const LEAST_BESIDE = 32;
/** So long they wait for the one under way. */
const PATIENCE_MS = 2;

/**
 * Reads rows by a key: one statement for all who ask in one turn of the event loop, and while the one before it is under way, on a connection of
 * the process's own. It is for rows that cost all callers alike and little, so that nobody has to take turns: those of callers who are not known
 * yet, and those that nearly every request reads. Every answer was read after its question.
 *
 * The statement is prepared. It takes its keys as `(select $1::text[])`, so that how many there are is no matter for its plan: the planner counts
 * those of a bare parameter, finds that it knows better each time, and plans anew, which took half a millisecond for a bead.
 */
export class GatheredReads<Key extends string | number, Row> {
  #waiting = new Map<Key, PromiseWithResolvers<Row | undefined>>();
  readonly #most: number;
  readonly #lanes: number;
  #reading = 0;
  /** One of them has begun and not looked yet: it takes what is asked until then. */
  #looking = false;
  #patience: NodeJS.Timeout | undefined;

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
    const question = Promise.withResolvers<Row | undefined>();
    this.#waiting.set(key, question);
    this.#work();
    return question.promise;
  }

  #work(): void {
    if (this.#looking || this.#reading === this.#lanes) return;
    if (this.#reading === 0 || this.#waiting.size >= LEAST_BESIDE) return this.#begin();
    this.#patience ??= setTimeout(() => {
      this.#patience = undefined;
      if (!this.#looking && this.#reading < this.#lanes && this.#waiting.size > 0) this.#begin();
    }, PATIENCE_MS);
  }

  #begin(): void {
    this.#looking = true;
    this.#reading++;
    databaseWaits.begin();
    void workFor(undefined, () => preparing(() => this.#readAll()));
  }

  async #readAll(): Promise<void> {
    for (let first = true; first || this.#waiting.size >= LEAST_BESIDE || (this.#reading === 1 && this.#waiting.size > 0); first = false) {
      this.#looking = true;
      // Questions of one turn of the event loop, those of callers who have just been answered among them, share a statement.
      await new Promise((resolve) => setImmediate(resolve));
      this.#looking = false;
      await this.#readNext();
    }
    this.#reading--;
    databaseWaits.end();
    if (this.#waiting.size > 0) return this.#work();
    clearTimeout(this.#patience);
    this.#patience = undefined;
  }

  async #readNext(): Promise<void> {
    const batch = this.#next();
    if (batch.length === 0) return; // the other one has them
    try {
      const rows = new Map(await this.load(batch.map(([key]) => key)));
      for (const [key, { resolve }] of batch) resolve(rows.get(key));
    } catch (error) {
      for (const [, { reject }] of batch) reject(error);
    }
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
