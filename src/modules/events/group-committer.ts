import { Injectable } from '@nestjs/common';
import { problem } from '../../contract/problems.js';
import { isRetryable } from '../../platform/database/pg-errors.js';
import { MovedStreams } from '../../platform/event-log/moved.js';
import { Failpoints } from '../../platform/failpoints/failpoints.js';
import { Metrics } from '../../platform/health/metrics.js';
import { EmitRepository, type EmitResult } from './emit.repository.js';

const MAX_ITEMS = 500;
const MAX_BYTES = 4 << 20;
/** Waiting emits of one city beyond which new ones are refused; about two seconds' worth. */
const MAX_WAITING = 10_000;

interface Waiting {
  readonly text: string;
  readonly resolve: (result: EmitResult | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Combines the concurrent emits of this process into one transaction a city, so that a city is not bound by one
 * flush an event. One flush is in flight a city; what arrives meanwhile goes with the next. Nobody is answered
 * before the commit, and an item that cannot be stored fails alone: its batch is halved until it stands by itself.
 */
@Injectable()
export class GroupCommitter {
  readonly #waiting = new Map<string, Waiting[]>();
  readonly #sizes;

  constructor(
    private readonly repository: EmitRepository,
    private readonly moved: MovedStreams,
    private readonly failpoints: Failpoints,
    metrics: Metrics,
  ) {
    this.#sizes = metrics.histogram({
      name: 'svc_emit_batch_events',
      help: 'Emits that shared one transaction',
      buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 500],
    });
  }

  /** Appends one item (its JSON text) to the city's stream; undefined when the city does not run. */
  emit(city: string, text: string): Promise<EmitResult | undefined> {
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(city);
      if (waiting === undefined) {
        this.#waiting.set(city, [{ text, resolve, reject }]);
        void this.#flushAll(city);
      } else if (waiting.length < MAX_WAITING) waiting.push({ text, resolve, reject });
      else reject(problem('unavailable', `too many events are waiting to be recorded in ${city}, try again`));
    });
  }

  /** Runs while the city has waiting emits; the entry in the map says that it runs. */
  async #flushAll(city: string): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve)); // requests of one turn of the event loop share a batch
    for (;;) {
      const batch = take(this.#waiting.get(city)!);
      if (batch.length === 0) break;
      this.#sizes.observe(batch.length);
      await this.#flush(city, batch);
    }
    this.#waiting.delete(city);
  }

  async #flush(city: string, batch: readonly Waiting[]): Promise<void> {
    try {
      await this.failpoints.hit('emit.before_flush');
      const texts = batch.map((item) => item.text);
      const results = await this.repository.emit(city, texts);
      await this.failpoints.hit('emit.after_flush');
      this.#settle(city, batch, results);
    } catch (error) {
      if (batch.length === 1 || isRetryable(error)) for (const item of batch) item.reject(toAnswer(error));
      else {
        const half = batch.length >> 1;
        await this.#flush(city, batch.slice(0, half));
        await this.#flush(city, batch.slice(half));
      }
    }
  }

  #settle(city: string, batch: readonly Waiting[], results: readonly EmitResult[] | undefined): void {
    let head = 0;
    for (const result of results ?? []) if (result.outcome === 'recorded') head = Math.max(head, result.seq);
    if (head > 0) this.moved.mark([{ stream: city, head }]);
    batch.forEach((item, i) => item.resolve(results?.[i]));
  }
}

function take(waiting: Waiting[]): Waiting[] {
  let bytes = 0;
  let n = 0;
  while (n < waiting.length && n < MAX_ITEMS && (n === 0 || bytes + waiting[n]!.text.length <= MAX_BYTES))
    bytes += waiting[n++]!.text.length;
  return waiting.splice(0, n);
}

/** A connection lost in the middle leaves it open whether the commit happened; only the key makes a repeat safe. */
function toAnswer(error: unknown): unknown {
  const lost =
    error instanceof Error && isRetryable(error) && !('severity' in error) && !/ECONNREFUSED|timeout exceeded/.test(error.message);
  if (!lost) return error;
  return problem(
    'unavailable',
    'the connection was lost and it is not known whether the event was recorded; repeat it with an Idempotency-Key',
    { cause: error },
  );
}
