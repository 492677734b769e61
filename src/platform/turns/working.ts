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
  #restedMs = 0;
  #rests = 0;
  #restsSince = 0;

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

  /** Does something that waits for what is written in a city: it takes turns with such of others, and its own reads do not wait for it. */
  async write<T>(work: () => Promise<T>): Promise<T> {
    if (this.connections > 0) return work();
    const writing = new Working({ ...this.party, share: 'writes' }, this.place);
    try {
      return await store.run(writing, work);
    } finally {
      this.waitedMs += writing.waitedMs;
    }
  }

  /** Waits for something that happens elsewhere; others have its place meanwhile. */
  async rest<T>(wait: () => Promise<T>): Promise<T> {
    if (this.place === undefined) return wait();
    if (this.#rests++ === 0) this.#restsSince = performance.now();
    this.place.leave();
    try {
      return await wait();
    } finally {
      if (--this.#rests === 0) this.#restedMs += performance.now() - this.#restsSince;
      if (!this.over) await this.place.again();
    }
  }

  /** Milliseconds that it has rested, up to now: a client that leaves while it rests ends it sooner than the rest. */
  get restedMs(): number {
    return this.#restedMs + (this.#rests > 0 ? performance.now() - this.#restsSince : 0);
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

/** Does what waits for what is written in a city; it is not to keep its caller's reads from their turns. */
export function writing<T>(work: () => Promise<T>): Promise<T> {
  return workingNow()?.write(work) ?? work();
}

/** Runs what many requests to a city have in common: batches of cities take turns with each other and with requests. */
export function batching<T>(city: string, lane: string, work: () => T): T {
  return workFor(new Working({ owner: `city ${city}`, limited: true, share: 'batches', lane }), work);
}
