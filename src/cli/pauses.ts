import { ConnectionError } from '../client/problems.js';
import { sleep } from '../client/sleep.js';
import { ApiError, InterruptedError, oneLine, TimedOutError, UnreachableError } from './errors.js';
import type { Io } from './io.js';
import { plain } from './table.js';

const TRANSIENT = new Set([429, 502, 503, 504]);
const MOST_MS = 30_000;

/**
 * Tells whoever follows something that nobody answers, and when it is tried again: silence would look like a quiet city. That a stream
 * has ended and is opened anew, as when a replica stops, is nothing to tell.
 */
export function pausesOf(io: Pick<Io, 'err'>, path: string): (ms: number, why: string) => void {
  return (ms, why) => {
    if (why !== 'the stream ended') io.err(`${path}: ${plain(oneLine(why))}; trying again in ${Math.ceil(ms / 1_000)} s\n`);
  };
}

/**
 * What is read again and again, also while nobody answers for a while: for somebody who watches until Ctrl-C. What another try cannot
 * mend ends it.
 */
export async function untilAnswered<T>(io: Io, path: string, read: () => Promise<T>, firstMs = 1_000): Promise<T> {
  const tell = pausesOf(io, path);
  for (let pause = firstMs; ; pause = Math.min(pause * 2, MOST_MS)) {
    try {
      return await read();
    } catch (error) {
      if (io.signal.aborted || !passes(error)) throw error;
      const { cause } = error;
      const ms = (error instanceof ApiError ? error.retryAfterMs : undefined) ?? pause;
      tell(ms, cause instanceof ConnectionError ? cause.message : error.message);
      await sleep(ms, io.signal);
      if (io.signal.aborted) throw new InterruptedError();
    }
  }
}

const passes = (error: unknown): error is Error =>
  error instanceof UnreachableError || error instanceof TimedOutError || (error instanceof ApiError && TRANSIENT.has(error.status));
