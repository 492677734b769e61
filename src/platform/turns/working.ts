import { AsyncLocalStorage } from 'node:async_hooks';
import type { Party } from './turns.js';

/** The place that a request has among those in work. */
export interface Place {
  leave(): void;
  again(): Promise<void>;
  /** Requests that its owner has in work and in line. */
  readonly wanted: number;
}

/** An owner with more requests than this wants many places. */
const FEW = 4;

/** The context of a request in work: whom its database connections and waits count for. */
export class Working {
  /** Database connections that it has. One that has a connection gets another without waiting, since two such requests could wait for each other. */
  connections = 0;
  /** The request is answered; what goes on from here counts for the process. */
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

  /** Gives its place back for good, as when it has become a stream. */
  leave(): void {
    this.place?.leave();
  }

  /** Does work that waits for writes in a city. It takes turns with such work of others, and does not keep the caller's reads waiting. */
  async write<T>(work: () => Promise<T>): Promise<T> {
    if (this.connections > 0) return work();
    const writing = new Working({ ...this.party, share: 'writes' }, this.place);
    try {
      return await store.run(writing, work);
    } finally {
      this.waitedMs += writing.waitedMs;
    }
  }

  /** Waits for something that happens elsewhere, and lends its place to others meanwhile. */
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

  /** Milliseconds that it has rested, including a rest that goes on: a client may leave during one. */
  get restedMs(): number {
    return this.#restedMs + (this.#rests > 0 ? performance.now() - this.#restsSince : 0);
  }
}

const store = new AsyncLocalStorage<Working | undefined>();

/** The request that this code runs for; undefined when it runs for the process. */
export function workingNow(): Working | undefined {
  const working = store.getStore();
  return working?.over === true ? undefined : working;
}

/** Runs `work`, and what it starts, for a request; with undefined for the process, which waits for no turn. */
export function workFor<T>(working: Working | undefined, work: () => T): T {
  return store.run(working, work);
}

/** Waits for something that happens elsewhere: a change, an answer of a runner. */
export function resting<T>(wait: () => Promise<T>): Promise<T> {
  const working = workingNow();
  return working === undefined ? wait() : working.rest(wait);
}

/** As `Working.write`, for the request that this runs for. */
export function writing<T>(work: () => Promise<T>): Promise<T> {
  return workingNow()?.write(work) ?? work();
}

/** Runs a batch for many requests to a city. Batches of cities take turns with each other and with requests. */
export function batching<T>(city: string, lane: string, work: () => T): T {
  return workFor(new Working({ owner: `city ${city}`, limited: true, share: 'batches', lane }), work);
}
