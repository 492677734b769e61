import { AsyncLocalStorage } from 'node:async_hooks';
import type { Party } from './turns.js';

/** The place that a request has among those in work. */
export interface Place {
  leave(): void;
  again(): Promise<void>;
  /** Requests that its owner has in work and in line. */
  readonly wanted: number;
}

/** More requests at once are many. */
const FEW = 4;

/** A request in work, or what is done for one: whose share it counts for. */
export class Working {
  /** Database connections that it has: who has one gets the next without waiting, or two of them would wait for each other. */
  connections = 0;
  /** It is answered; what goes on from here is the process's own. */
  over = false;
  /** Milliseconds that it has waited for its turns. */
  waitedMs = 0;

  constructor(
    readonly party: Party,
    private readonly place?: Place,
  ) {}

  get wantsMany(): boolean {
    return (this.place?.wanted ?? 0) > FEW;
  }

  /** Gives its place back for good: it has become a stream. */
  leave(): void {
    this.place?.leave();
  }

  /** Waits for something that happens elsewhere; others have its place meanwhile. */
  async rest<T>(wait: () => Promise<T>): Promise<T> {
    if (this.place === undefined) return wait();
    this.place.leave();
    try {
      return await wait();
    } finally {
      if (!this.over) await this.place.again();
    }
  }
}

const store = new AsyncLocalStorage<Working | undefined>();

/** For whom this runs; undefined for the process itself. */
export function workingNow(): Working | undefined {
  const working = store.getStore();
  return working?.over === true ? undefined : working;
}

/** Runs `work`, and what it starts, for somebody; with undefined for the process itself, which waits for nobody's turn. */
export function workFor<T>(working: Working | undefined, work: () => T): T {
  return store.run(working, work);
}

/** Waits for something that happens elsewhere: a change, an answer of a runner. */
export function resting<T>(wait: () => Promise<T>): Promise<T> {
  const working = workingNow();
  return working === undefined ? wait() : working.rest(wait);
}
