import type { AppLogger } from '../logging/logger.js';
import { sleep } from '../time/clock.js';
import type { Opened } from './backend.js';
import type { QueueTimings } from './timings.js';

const LOG_EVERY_MS = 10_000;

type Ready = { waitUntilReady(): Promise<unknown> };

/**
 * Keeps one producer or consumer open. BullMQ remembers a failed first connection for the life of the object, so
 * a failed one is thrown away and opened anew until it works. Errors are logged, at most one every ten seconds,
 * and never reach the process.
 */
export class KeptOpen<T extends Ready> {
  #current: Opened<T> | undefined;
  #ready = false;
  #loggedAt = -Infinity;
  readonly #closing = new AbortController();
  #opening: Promise<void> | undefined;

  constructor(
    private readonly what: string,
    private readonly make: (onError: (error: Error) => void) => Promise<Opened<T>>,
    private readonly times: QueueTimings,
    private readonly log: AppLogger,
  ) {}

  /** Begins to open and returns at once. `whenReady` runs for every object that came up. */
  open(whenReady?: (it: T) => void): void {
    this.#opening ??= this.#open(whenReady);
  }

  /** The object, when it is up and has a live connection. */
  get live(): T | undefined {
    return this.#ready && this.#current?.connected() === true ? this.#current.it : undefined;
  }

  async close(force = false): Promise<void> {
    this.#closing.abort();
    this.#ready = false;
    // Closed in the middle of its opening, BullMQ's PostgreSQL worker leaves its LISTEN connection behind.
    await this.#opened();
    const current = this.#current;
    this.#current = undefined;
    await current?.close(force).catch((error: unknown) => this.report(error));
    // Cut between two attempts, ioredis does not tell that it has ended, and BullMQ's opening never does either.
    await this.#opened();
  }

  /** Logs what went wrong with the connection, without flooding the log while a server is away. */
  report(error: unknown): void {
    const now = performance.now();
    if (this.#closing.signal.aborted || now - this.#loggedAt < LOG_EVERY_MS) return;
    this.#loggedAt = now;
    this.log.warn({ err: error, part: this.what }, 'the queue is not reachable; accepted work is picked up from the database');
  }

  /** Waits for an opening under way, for a while. */
  async #opened(): Promise<void> {
    if (this.#opening === undefined) return;
    const opened = new AbortController();
    void this.#opening.finally(() => opened.abort());
    await sleep(this.times.openingMs, opened.signal);
  }

  async #open(whenReady?: (it: T) => void): Promise<void> {
    const { signal } = this.#closing;
    const { reopenMs, reopenMaxMs } = this.times;
    for (let pause = reopenMs; !signal.aborted; pause = Math.min(pause * 2, reopenMaxMs)) {
      let opened: Opened<T> | undefined;
      try {
        opened = await this.make((error) => this.report(error));
        // Whoever closes waits for a while only, and has not seen it.
        if (signal.aborted) return await opened.close(true);
        this.#current = opened;
        await opened.it.waitUntilReady();
        if (signal.aborted) return;
        this.#ready = true;
        whenReady?.(opened.it);
        return;
      } catch (error) {
        this.report(error);
        await opened?.close(true).catch(() => undefined);
        await sleep(pause, signal);
      }
    }
  }
}
