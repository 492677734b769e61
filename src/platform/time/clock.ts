import { randomBytes } from 'node:crypto';

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

/** `<prefix>-` and 24 lowercase hex characters: never all digits, never with `:` (BullMQ refuses both). */
export function newId(prefix: string): string {
  return `${prefix}-${randomBytes(12).toString('hex')}`;
}

/** Resolves when `work` has ended, or after `ms`: whichever comes first leaves no timer behind. Rejects as `work` does. */
export async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  const ended = new AbortController();
  await Promise.race([work, sleep(ms, ended.signal)]).finally(() => ended.abort());
}

/** Resolves after `ms`, or at once when `signal` aborts. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done, { once: true });
  });
}
