import type { AppLogger } from '../logging/logger.js';

export interface Alone<T> {
  /** What the log says of one that has failed, such as `a lost firing could not be taken back`. */
  readonly failed: string;
  /** Which one it was. */
  readonly about: (item: T) => Readonly<Record<string, unknown>>;
  readonly signal?: AbortSignal | undefined;
}

/** Does something for one after the other; one that fails is logged, and holds up none of the others. Answers how much was done. */
export async function eachAlone<T>(
  items: Iterable<T>,
  log: AppLogger,
  { failed, about, signal }: Alone<T>,
  work: (item: T) => Promise<number | boolean>,
): Promise<number> {
  let done = 0;
  for (const item of items) {
    if (signal?.aborted === true) break;
    try {
      done += Number(await work(item));
    } catch (error) {
      log.warn({ err: error, ...about(item) }, `${failed}; the next turn tries again`);
    }
  }
  return done;
}
