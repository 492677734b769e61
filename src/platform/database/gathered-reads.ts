import { problem } from '../../contract/problems.js';
import { preparing } from '../turns/preparing.js';
import { databaseWaits } from '../turns/database-waits.js';
import { workFor } from '../turns/working.js';

export interface GatheringLimits {
  /** Keys of one statement at most. */
  readonly most?: number;
  /** Statements in flight at most. */
  readonly lanes?: number;
}

const MOST = 500;
const MOST_WAITING = 10_000;
/** Fewer keys are not worth a second statement in flight: with 32 callers two small statements took a fifth more CPU than one. */
const LEAST_BESIDE = 32;
/** How long such keys wait for the statement in flight. */
const PATIENCE_MS = 2;

/**
 * Reads rows by a key. Calls of one turn of the event loop share a statement, and so do calls while a statement is in flight. It uses a connection of
 * the process, without turns, so it is for rows that cost all callers little and alike: rows read before the caller is known, and
 * rows that nearly every request reads. Every answer was read after its call.
 *
 * The statement is prepared, and has to take its keys as `(select $1::text[])`. With a bare parameter the planner would count the keys and plan anew for each
 * call, which took half a millisecond for a bead.
 */
export class GatheredReads<Key extends string | number, Row> {
  #waiting = new Map<Key, PromiseWithResolvers<Row | undefined>>();
  readonly #most: number;
  readonly #lanes: number;
  #reading = 0;
  /** A lane has begun and not taken its keys yet: it will take all keys that are asked until then. */
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
      // Calls of one turn of the event loop share a statement, also those of callers that have just been answered.
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
    if (batch.length === 0) return; // another lane has taken them
    try {
      const rows = new Map(await this.load(batch.map(([key]) => key)));
      for (const [key, { resolve }] of batch) resolve(rows.get(key));
    } catch (error) {
      for (const [, { reject }] of batch) reject(error);
    }
  }

  /** The keys that have waited longest. */
  #next(): [Key, PromiseWithResolvers<Row | undefined>][] {
    const all = this.#waiting;
    if (all.size <= this.#most) {
      // A new map, since a long-lived one keeps deleted entries: see `Slots`.
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
