import { ConnectionError } from '../client/problems.js';
import { orAborted, sleep, timeLimit } from '../client/sleep.js';
import { ApiError, InterruptedError, oneLine, TimedOutError, UnreachableError } from './errors.js';
import type { Io } from './io.js';
import { plain } from './table.js';

const TRANSIENT = new Set([429, 502, 503, 504]);
const MOST_MS = 30_000;

export interface Pauses {
  readonly onPause: (ms: number, why: string) => void;
  readonly onResume: () => void;
}

/**
 * Tells whoever follows something that nobody answers, when it is tried again, and once that somebody does: silence would look like a quiet
 * city. That a stream has ended and is opened anew, as when a replica stops, is nothing to tell.
 */
export const pausesOf = (io: Pick<Io, 'err'>, path: string): Pauses => pausesTold((text) => io.err(`${path}: ${text}\n`));

/** The same for what tells in its own way. */
export function pausesTold(tell: (text: string) => void): Pauses {
  let away = false;
  return {
    onPause: (ms, why) => {
      if (why === 'the stream ended') return;
      away = true;
      tell(`${plain(oneLine(why))}; trying again in ${Math.ceil(ms / 1_000)} s`);
    },
    onResume: () => {
      if (away) tell('connected again');
      away = false;
    },
  };
}

/**
 * What is read again and again, also while nobody answers for a while: for somebody who watches until Ctrl-C. What another try cannot
 * mend ends it.
 */
export async function untilAnswered<T>(io: Pick<Io, 'err' | 'signal'>, path: string, read: () => Promise<T>, firstMs = 1_000): Promise<T> {
  const { onPause, onResume } = pausesOf(io, path);
  for (let pause = firstMs; ; pause = Math.min(pause * 2, MOST_MS)) {
    try {
      const found = await read();
      onResume();
      return found;
    } catch (error) {
      if (io.signal.aborted || !passes(error)) throw error;
      const { cause } = error;
      const ms = (error instanceof ApiError ? error.retryAfterMs : undefined) ?? pause;
      onPause(ms, cause instanceof ConnectionError ? cause.message : error.message);
      await sleep(ms, io.signal);
      if (io.signal.aborted) throw new InterruptedError();
    }
  }
}

export interface Looks {
  /** Between two looks, in milliseconds. */
  readonly everyMs: number;
  readonly timeoutMs: number | undefined;
  /** What is said to whoever stops to wait, or whose time is over: what goes on, and where it is seen. */
  readonly goesOn: string;
}

/**
 * Looks until there is what is waited for. That nobody answers a look for a while ends nothing: a script that is told so does again what has
 * begun. @throws InterruptedError, TimedOutError, what `look` throws that another try cannot mend
 */
export async function lookUntil<T>(
  io: Pick<Io, 'err' | 'signal'>,
  path: string,
  look: () => Promise<T | undefined>,
  looks: Looks,
): Promise<T> {
  const { everyMs, timeoutMs, goesOn } = looks;
  const limit = timeoutMs === undefined ? undefined : timeLimit(timeoutMs);
  const signal = limit === undefined ? io.signal : AbortSignal.any([io.signal, limit]);
  const until = { err: (text: string) => io.err(text), signal };
  const looking = async (): Promise<T> => {
    for (;;) {
      const found = await untilAnswered(until, path, look);
      if (found !== undefined) return found;
      await sleep(everyMs, signal);
      if (signal.aborted) throw new InterruptedError();
    }
  };
  try {
    return await orAborted(looking(), signal);
  } catch (error) {
    if (io.signal.aborted) throw new InterruptedError(`interrupted; ${goesOn}`);
    if (limit?.aborted === true) throw new TimedOutError(`no end within the time-out; ${goesOn}`);
    throw error;
  }
}

const passes = (error: unknown): error is Error =>
  error instanceof UnreachableError || error instanceof TimedOutError || (error instanceof ApiError && TRANSIENT.has(error.status));
