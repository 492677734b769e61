import type { AppLogger } from '../logging/logger.js';
import { sleep } from '../time/clock.js';
import type { Lifecycle, ShutdownPhase } from './lifecycle.js';

export interface Repeated {
  /** What the log says about it, such as `expired leases`. */
  readonly name: string;
  readonly everyMs: number;
  /** The phase of the shutdown in which it ends; `worker` unless said. */
  readonly phase?: ShutdownPhase;
  /** Looks at `signal` when it takes long. A failure is logged, and the next turn comes all the same. */
  readonly work: (signal: AbortSignal) => Promise<unknown>;
}

/** Does something again and again, never twice at once, until the process stops; the shutdown waits for the turn in progress. */
export function repeat(lifecycle: Lifecycle, log: AppLogger, { name, everyMs, phase = 'worker', work }: Repeated): void {
  const stop = new AbortController();
  const { signal } = stop;
  const run = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        await work(signal);
      } catch (error) {
        log.warn({ err: error }, `${name}: this turn failed`);
      }
      await sleep(everyMs, signal);
    }
  };
  const loop = run();
  lifecycle.onStop(phase, name, () => {
    stop.abort();
    return loop;
  });
}
