import type { AppLogger } from '../logging/logger.js';
import { sleep } from '../time/clock.js';
import { inStep } from '../time/ticks.js';
import type { Lifecycle, ShutdownPhase } from './lifecycle.js';

export interface Repeated {
  /** What the log says about it, such as `expired leases`. */
  readonly name: string;
  readonly everyMs: number;
  /** The phase of the shutdown in which it ends; `worker` unless said. */
  readonly phase?: ShutdownPhase;
  /** Looks at `signal` when it takes long. A failure is logged, one that stays as it is once a minute, and the next turn comes all the same. */
  readonly work: (signal: AbortSignal) => Promise<unknown>;
}

/** A failure that comes again and again is said again after so long. */
const SAID_AGAIN_MS = 60_000;
/** Of so many failures that take turns, as of a database whose hosts do, each one. */
const TEXTS = 8;
/** Who fails at once, as without a database, waits longer from turn to turn, up to this. */
const LONGEST_PAUSE_MS = 1_000;

export function pauseAfter(failures: number, everyMs: number): number {
  return Math.max(everyMs, Math.min(LONGEST_PAUSE_MS, Math.max(everyMs, 1) * 2 ** failures));
}

/** Does something again and again, never twice at once, until the process stops; the shutdown waits for the turn in progress. */
export function repeat(lifecycle: Lifecycle, log: AppLogger, { name, everyMs, phase = 'worker', work }: Repeated): void {
  const stop = new AbortController();
  const { signal } = stop;
  const run = async (): Promise<void> => {
    let failures = 0;
    /** When each was said last, that of long ago first. */
    const said = new Map<string, number>();
    while (!signal.aborted) {
      try {
        await work(signal);
        failures = 0;
        said.clear();
      } catch (error) {
        failures++;
        const [text, at] = [String(error), performance.now()];
        if (at - (said.get(text) ?? -Infinity) >= SAID_AGAIN_MS) {
          log.warn({ err: error, ...(failures === 1 ? {} : { failures }) }, `${name}: this turn failed`);
          said.delete(text);
          said.set(text, at);
          if (said.size > TEXTS) said.delete(said.keys().next().value!);
        }
      }
      await sleep(inStep(pauseAfter(failures, everyMs)), signal);
    }
  };
  const loop = run();
  lifecycle.onStop(phase, name, () => {
    stop.abort();
    return loop;
  });
}
