import { problem, ProblemError } from '../../contract/problems.js';
import { auditItems } from '../audit/audit-insert.js';
import { audited, onBehalfOf, type AuditedRequest } from '../audit/audited-request.js';
import { batching } from '../turns/working.js';
import { halving } from './halving.js';
import { isRetryable } from './pg-errors.js';

const MAX_ITEMS = 500;
const MAX_BYTES = 4 << 20;
/** Waiting items of one key beyond which new ones are refused; about two seconds' worth. */
const MAX_WAITING = 10_000;

interface Waiting<R> {
  readonly text: string;
  readonly request: AuditedRequest | undefined;
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Combines the concurrent writes of this process into one transaction a key (a city's name), so that a city is not
 * bound by one flush a write. One flush is in flight a key; what arrives meanwhile goes with the next. Nobody is
 * answered before the commit, and a city has one batch at once, so that no other waits for more than one of it. An item that cannot
 * be stored fails alone.
 */
export abstract class GroupCommitter<R> {
  readonly #waiting = new Map<string, Waiting<R>[]>();

  /**
   * Commits the items (each the JSON text of one) in one transaction; one result an item, in order. It stores the records of those
   * that have an effect with them: `records` is for `auditInsert`.
   */
  protected abstract flush(key: string, texts: readonly string[], records: string): Promise<readonly R[]>;

  /** Whether an item has had an effect, and so has its record. */
  protected abstract hadEffect(result: R): boolean;

  /** What a client reads about one item, such as `event`. */
  protected abstract readonly noun: string;

  /** Commits one item with whatever else is waiting for the same key. */
  protected enqueue(key: string, text: string): Promise<R> {
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(key);
      const item = { text, request: audited(), resolve, reject };
      if (waiting === undefined) {
        this.#waiting.set(key, [item]);
        // It goes on for others.
        void onBehalfOf(undefined, () => batching(key, this.noun, () => this.#flushAll(key)));
      } else if (waiting.length < MAX_WAITING) waiting.push(item);
      else reject(problem('unavailable', `too many ${this.noun}s are waiting to be recorded in ${key}, try again`));
    });
  }

  /** Runs while the key has waiting items; the entry in the map says that it runs. */
  async #flushAll(key: string): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve)); // requests of one turn of the event loop share a batch
    for (;;) {
      const batch = take(this.#waiting.get(key)!);
      if (batch.length === 0) break;
      await this.#flush(key, batch);
    }
    this.#waiting.delete(key);
  }

  #flush(key: string, batch: readonly Waiting<R>[]): Promise<void> {
    return halving(
      batch,
      async (some) => {
        const records = auditItems(some.map((item) => item.request));
        const results = await this.flush(
          key,
          some.map((item) => item.text),
          records,
        );
        some.forEach((item, i) => {
          if (item.request !== undefined && this.hadEffect(results[i]!)) item.request.recorded = true;
          item.resolve(results[i]!);
        });
      },
      // Smaller ones would find no connection either.
      (error) => isRetryable(error) || error instanceof ProblemError,
      (item, error) => item.reject(this.#toAnswer(error)),
    );
  }

  /** A connection lost in the middle leaves it open whether the commit happened; only the key makes a repeat safe. */
  #toAnswer(error: unknown): unknown {
    const lost =
      error instanceof Error && isRetryable(error) && !('severity' in error) && !/ECONNREFUSED|timeout exceeded/.test(error.message);
    if (!lost) return error;
    return problem(
      'unavailable',
      `the connection was lost and it is not known whether the ${this.noun} was recorded; repeat it with an Idempotency-Key`,
      { cause: error },
    );
  }
}

function take<R>(waiting: Waiting<R>[]): Waiting<R>[] {
  let bytes = 0;
  let n = 0;
  while (n < waiting.length && n < MAX_ITEMS && (n === 0 || bytes + waiting[n]!.text.length <= MAX_BYTES))
    bytes += waiting[n++]!.text.length;
  return waiting.splice(0, n);
}
