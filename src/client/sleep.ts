/** What a timer can be set to, 24 days: one of more ends at once, or is refused. */
export const LONGEST_MS = 2 ** 31 - 1;

/** Aborts after so long; after as long as a timer can wait, where that is less. */
export const timeLimit = (ms: number): AbortSignal => AbortSignal.timeout(Math.min(ms, LONGEST_MS));

/** Waits so long, or until the signal aborts. Never fails. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const over = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', over);
      resolve();
    };
    const timer = setTimeout(over, Math.min(ms, LONGEST_MS));
    signal?.addEventListener('abort', over);
  });
}

/**
 * What is waited for, unless the signal aborts before: then with its reason. For what does not hear the signal itself for sure: a response
 * does not hear that of its request any more once the request is collected.
 */
export function orAborted<T>(waited: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return waited;
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort);
    void waited.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
    if (signal.aborted) onAbort();
  });
}
