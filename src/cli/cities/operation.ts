import { setTimeout as sleep } from 'node:timers/promises';
import type { Api } from '../api.js';
import { awaitEnding, type Ending } from '../ending.js';
import { citiesOf } from './cities-of.js';
import type { Progress } from './progress.js';

export interface Accepted {
  readonly request_id: string;
  readonly event_cursor: string;
  readonly warnings?: readonly string[];
}

export interface WaitOptions {
  readonly operation: string;
  readonly city: string;
  readonly timeoutMs: number | undefined;
  readonly progress: Progress;
}

/** Waits for the one terminal event of a request about a city, while the list of cities tells the phase. */
export function awaitCityEnding(api: Api, accepted: Accepted, { operation, city, timeoutMs, progress }: WaitOptions): Promise<Ending> {
  return awaitEnding(api, {
    accepted,
    operation,
    timeoutMs,
    progress,
    beside: (signal) => showPhases(api, city, progress, signal),
  });
}

const FIRST_POLL_MS = 250;
const LAST_POLL_MS = 3_000;

/** Never fails the wait: a phase that cannot be read is not shown. */
async function showPhases(api: Api, city: string, progress: Progress, signal: AbortSignal): Promise<void> {
  for (let pause = FIRST_POLL_MS; !signal.aborted; pause = Math.min(pause * 1.5, LAST_POLL_MS)) {
    try {
      const entry = (await citiesOf(api, signal)).find((item) => item.name === city);
      // A city that runs is either not yet stopping or about to be reported as running: no phase to show.
      if (entry?.running === false && !signal.aborted) progress.enter(entry.status ?? 'waiting');
    } catch {
      // the stream tells what is wrong with the connection
    }
    await sleep(pause, undefined, { signal }).catch(() => undefined);
  }
}
