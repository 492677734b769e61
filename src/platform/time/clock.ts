import { randomFillSync } from 'node:crypto';

/** Wall-clock and monotonic time behind one door, so that a test can hold it still. */
export class Clock {
  now(): Date {
    return new Date();
  }
  /** Milliseconds that never go backwards. */
  monotonic(): number {
    return performance.now();
  }
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleep(ms, signal);
  }
}

const ID_BYTES = 12;
/** Bytes for the next ids: to ask for those of 341 takes hardly longer than for those of one. */
const pool = Buffer.alloc(341 * ID_BYTES);
let used = pool.length;

/** `<prefix>-` and 24 lowercase hex characters: never all digits, never with `:` (BullMQ refuses both). */
export function newId(prefix: string): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  return `${prefix}-${pool.toString('hex', used, (used += ID_BYTES))}`;
}

/** Resolves when `work` has ended, or after `ms`: whichever comes first leaves no timer behind. Rejects as `work` does. */
export async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  const ended = new AbortController();
  await Promise.race([work, sleep(ms, ended.signal)]).finally(() => ended.abort());
}

/** 24.8 days. Node fires a timer at once that is to take longer. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Aborts after `ms`, or after the longest time of a timer. */
export function abortedAfter(ms: number): AbortSignal {
  return AbortSignal.timeout(Math.min(ms, LONGEST_TIMER_MS));
}

/** Resolves after `ms`, however long that is, or at once when `signal` aborts. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    let timer: NodeJS.Timeout | undefined;
    const wait = (left: number): void => {
      timer = left > LONGEST_TIMER_MS ? setTimeout(wait, LONGEST_TIMER_MS, left - LONGEST_TIMER_MS) : setTimeout(done, left);
    };
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    wait(ms);
    signal?.addEventListener('abort', done, { once: true });
  });
}
