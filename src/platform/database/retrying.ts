import { doubled } from '../time/doubled.js';
import { sleep } from '../time/clock.js';
import { isRetryable } from './pg-errors.js';

const FIRST_MS = 100;

export interface Retries {
  readonly mostMs: number;
  /** Looked at after each failure: when it is false, that failure is final. */
  readonly goesOn?: () => boolean;
  /** Cuts a pause short. */
  readonly signal?: AbortSignal;
}

/** Does something again and again while the database fails. @throws what is no failure of the database, at once */
export async function retrying<T>(work: () => Promise<T>, { mostMs, goesOn = () => true, signal }: Retries): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await work();
    } catch (error) {
      if (!isRetryable(error) || !goesOn()) throw error;
      await sleep(doubled(failures, FIRST_MS, mostMs), signal);
    }
  }
}
