import { Injectable } from '@nestjs/common';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import { Signals } from '../../../platform/streams/signals.js';
import { resting } from '../../../platform/turns/working.js';
import { logTopic } from '../session-store/topics.js';

/** A signal may be lost: it is looked at this often anyway. */
const LOOK_EVERY_MS = 250;

export interface Watching {
  readonly ms: number;
  /** Aborts when nobody waits for the answer any more. */
  readonly gone?: AbortSignal | undefined;
}

/** Lets a request wait for what a runner does with a session. */
@Injectable()
export class SessionWatch {
  readonly #waiting = new Set<() => void>();
  #stopped = false;

  constructor(
    private readonly signals: Signals,
    lifecycle: Lifecycle,
  ) {
    lifecycle.onStop('accept', 'requests that wait for runners', () => {
      this.#stopped = true;
      for (const wake of this.#waiting) wake();
    });
  }

  /**
   * Looks until it finds something: after each signal about the session, and every now and then. Undefined once the time is
   * over, the client has gone or the process stops.
   */
  async until<T>(sessionPk: number, { ms, gone }: Watching, look: () => Promise<T | undefined>): Promise<T | undefined> {
    const limit = performance.now() + ms;
    let signalled: boolean;
    let wake = (): void => undefined;
    const notice = (): void => {
      signalled = true;
      wake();
    };
    const topic = logTopic(sessionPk);
    const forget = this.signals.onTopics((names) => {
      if (names === 'all' || names.has(topic)) notice();
    });
    this.#waiting.add(notice);
    gone?.addEventListener('abort', notice);
    try {
      for (;;) {
        signalled = false;
        const found = await look();
        const left = limit - performance.now();
        if (found !== undefined || left <= 0 || this.#stopped || gone?.aborted === true) return found;
        if (signalled) continue;
        const waited = new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, Math.min(LOOK_EVERY_MS, left));
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
        await resting(() => waited);
      }
    } finally {
      forget();
      this.#waiting.delete(notice);
      gone?.removeEventListener('abort', notice);
    }
  }
}
