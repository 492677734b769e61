import { problem, ProblemError } from '../../contract/problems.js';
import { auditItems } from '../audit/audit-insert.js';
import { audited, onBehalfOf, type AuditedRequest } from '../audit/audited-request.js';
import { part, within } from '../telemetry/spans.js';
import { batching } from '../turns/working.js';
import { halving } from './halving.js';
import { isRetryable } from './pg-errors.js';

const MAX_ITEMS = 500;
const MAX_BYTES = 4 << 20;
/** Waiting items of one key beyond which new ones are refused; about two seconds' worth. */
const MAX_WAITING = 10_000;

interface Waiting<R, I> {
  readonly item: I;
  readonly bytes: number;
  readonly request: AuditedRequest | undefined;
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Combines the concurrent writes of this process into one transaction a key (a city's name, or that of a lane which cities share), so that
 * a city is not bound by one flush a write. One flush is in flight a key; what arrives meanwhile goes with the next. Nobody is
 * answered before the commit, and a city has one batch at once, so that no other waits for more than one of it. An item that cannot
 * be stored fails alone.
 */
export abstract class GroupCommitter<R, I = string> {
  readonly #waiting = new Map<string, Waiting<R, I>[]>();

  /**
   * Commits the items in one transaction; one result an item, in order. It stores the records of those
   * that have an effect with them: `records` is for `auditInsert`.
   */
  protected abstract flush(key: string, items: readonly I[], records: string): Promise<readonly R[]>;

  /** Whether an item has had an effect, and so has its record. */
  protected abstract hadEffect(result: R): boolean;

  /** What a client reads about one item, such as `event`. */
  protected abstract readonly noun: string;

  /** What makes a repetition safe, in the words of an answer. */
  protected readonly repeatable: string = 'with an Idempotency-Key';

  /** Whose an item is: where a batch cannot have all, each that shares its key gets a place of it in turn. */
  protected ownerOf(_item: I): string {
    return '';
  }

  /** Something waits, or is being committed, for the key. */
  protected isBusy(key: string): boolean {
    return this.#waiting.has(key);
  }

  /** Commits one item with whatever else is waiting for the same key. */
  protected enqueue(key: string, item: I, bytes: number): Promise<R> {
    return part('group commit', { 'db.system.name': 'postgresql', 'svc.item': this.noun }, () => this.#enqueue(key, item, bytes));
  }

  #enqueue(key: string, item: I, bytes: number): Promise<R> {
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(key);
      const one = { item, bytes, request: audited(), resolve, reject };
      if (waiting === undefined) {
        this.#waiting.set(key, [one]);
        // It goes on for others.
        void within(undefined, () => onBehalfOf(undefined, () => batching(key, this.noun, () => this.#flushAll(key))));
      } else if (waiting.length < MAX_WAITING) waiting.push(one);
      else reject(problem('unavailable', `too many ${this.noun}s are waiting to be recorded, try again`));
    });
  }

  /** Runs while the key has waiting items; the entry in the map says that it runs. */
  async #flushAll(key: string): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve)); // requests of one turn of the event loop share a batch
    for (;;) {
      const batch = take(this.#waiting.get(key)!, (one) => this.ownerOf(one.item));
      if (batch.length === 0) break;
      await this.#flush(key, batch);
    }
    this.#waiting.delete(key);
  }

  #flush(key: string, batch: readonly Waiting<R, I>[]): Promise<void> {
    return halving(
      batch,
      async (some) => {
        const records = auditItems(some.map((one) => one.request));
        const results = await this.flush(
          key,
          some.map((one) => one.item),
          records,
        );
        some.forEach((one, i) => {
          if (one.request !== undefined && this.hadEffect(results[i]!)) one.request.recorded = true;
          one.resolve(results[i]!);
        });
      },
      // Smaller ones would find no connection either.
      (error) => isRetryable(error) || error instanceof ProblemError,
      (one, error) => one.reject(this.toAnswer(error)),
    );
  }

  /** A connection lost in the middle leaves it open whether the commit happened; only the key makes a repeat safe. */
  protected toAnswer(error: unknown): unknown {
    const lost =
      error instanceof Error && isRetryable(error) && !('severity' in error) && !/ECONNREFUSED|timeout exceeded/.test(error.message);
    if (!lost) return error;
    return problem(
      'unavailable',
      `the connection was lost and it is not known whether the ${this.noun} was recorded; repeat it ${this.repeatable}`,
      { cause: error },
    );
  }
}

/** As much as a batch holds, of each owner in turn; each owner's in their order. What is left keeps its order as well. */
function take<T extends { readonly bytes: number }>(waiting: T[], ownerOf: (one: T) => string): T[] {
  if (waiting.length <= MAX_ITEMS && waiting.reduce((sum, { bytes }) => sum + bytes, 0) <= MAX_BYTES) return waiting.splice(0);
  const lines = [...Map.groupBy(waiting, ownerOf).values()];
  const batch = new Set<T>();
  let bytes = 0;
  while (lines.length > 0 && batch.size < MAX_ITEMS) {
    const line = lines.shift()!;
    const one = line.shift()!;
    if (batch.size > 0 && bytes + one.bytes > MAX_BYTES) break;
    batch.add(one);
    bytes += one.bytes;
    if (line.length > 0) lines.push(line);
  }
  waiting.splice(0, waiting.length, ...waiting.filter((one) => !batch.has(one)));
  return [...batch];
}
