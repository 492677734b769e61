import workerUrl from './worker.ts?sharedworker&url';
import { isSignedOut, lastSignOut } from '../api/signed-out.js';
import { newKey } from '../lib/wishes.js';
import { browser } from './around.js';
import { Link, type Ways, type Worker } from './link.js';
import type { Down, StreamState, Up } from './messages.js';
import { Streams, type Listener } from './streams.js';
import { trusted } from './trusted.js';

/** Somebody on this page who listens to a stream. */
export interface Subscriber {
  /** Its history comes at the beginning of the stream, and nowhere else. */
  readonly whole?: boolean;
  frame?(frame: { event: string; id: string; data: unknown }): void;
  /** Joined. With `gap` everything is to be read, now. */
  live?(gap: boolean): void;
  state?(state: StreamState): void;
}

/** A hidden page lets go of what nobody sees. */
const HIDDEN_MS = 60_000;

const isWhole = (all: ReadonlyMap<Subscriber, boolean>): boolean => [...all.keys()].some(({ whole }) => whole);

/** What this browser has for it. */
const ways: Ways = {
  worker: () => {
    if (typeof SharedWorker !== 'function' || !('locks' in navigator)) return undefined;
    try {
      return new SharedWorker(trusted(workerUrl) as URL, { type: 'module', name: 'svc' }) as unknown as Worker;
    } catch {
      return undefined;
    }
  },
  here: (receive) => {
    const streams = new Streams(browser);
    const listener: Listener = { tell: receive };
    queueMicrotask(() => streams.add(listener));
    return { send: (message) => streams.handle(listener, message), end: () => streams.remove(listener) };
  },
  lock: (name, then, shared = false) => void navigator.locks.request(name, { mode: shared ? 'shared' : 'exclusive' }, then),
  wait: (ms, then) => {
    const timer = setTimeout(then, ms);
    return () => clearTimeout(timer);
  },
  name: () => `svc-page-${newKey()}`,
};

/** The streams of this page, wherever they are held. */
class Hub {
  readonly #subscribers = new Map<string, Map<Subscriber, boolean>>();
  readonly #states = new Map<string, StreamState>();
  /** Those that another one is opening in the place of one that was live. */
  readonly #moving = new Set<string>();
  readonly #link: Link;
  readonly #keys = new Set<(key: string | null, first: boolean) => void>();
  #asleep = false;
  #key: string | null | undefined;
  #heartbeatMs: number | undefined;
  /** Settled once it is known whether another page has a key already. */
  readonly ready: Promise<string | null>;

  constructor() {
    let known: (key: string | null) => void = () => undefined;
    this.ready = new Promise((resolve) => (known = resolve));
    this.#keys.add((key) => known(key));
    this.#link = new Link(
      ways,
      (message) => this.#receive(message),
      (moved) => this.#again(moved),
    );
    // A worker that cannot be loaded keeps nobody waiting.
    setTimeout(() => known(null), 1_000);
    this.#watch();
  }

  onKey(listener: (key: string | null, first: boolean) => void): void {
    this.#keys.add(listener);
  }

  useKey(key: string | null): void {
    this.#key = key;
    this.#send({ t: 'key', key, out: lastSignOut() });
  }

  /** Used where no page has one: the worker may have had no time to say that another has. */
  offerKey(key: string | null): void {
    this.#key = key;
    this.#send({ t: 'key', key, offered: true, out: lastSignOut() });
  }

  /** Somebody has signed out elsewhere, and nobody may be there any more who tells this page of it. */
  signedOut(): void {
    this.#receive({ t: 'key', key: null });
    // Whoever holds the streams may have slept through it as well. Another key that it has by now stays.
    this.#send({ t: 'forget', out: lastSignOut() });
  }

  /** How often the service says something on each stream at the least. */
  useHeartbeat(ms: number): void {
    this.#heartbeatMs = ms;
    this.#send({ t: 'heartbeat', ms });
  }

  /** @param keep stays open while the page is hidden. */
  join(url: string, subscriber: Subscriber, keep = false): () => void {
    const all = this.#subscribers.get(url) ?? new Map<Subscriber, boolean>();
    this.#subscribers.set(url, all);
    const { whole = false } = subscriber;
    const wanted = all.size > 0 && !whole && (!keep || [...all.values()].some(Boolean));
    all.set(subscriber, keep);
    const state = this.#states.get(url);
    if (!wanted) this.#send({ t: 'join', url, keep, whole });
    else if (state !== undefined)
      queueMicrotask(() => {
        subscriber.state?.(state);
        if (state.kind === 'live' && all.has(subscriber)) subscriber.live?.(true);
      });
    return () => {
      all.delete(subscriber);
      if (all.size > 0) return;
      this.#subscribers.delete(url);
      this.#states.delete(url);
      this.#moving.delete(url);
      this.#send({ t: 'leave', url });
    };
  }

  /** For one that was paused. */
  resume(url: string): void {
    this.#send({ t: 'join', url, keep: false });
  }

  stateOf(url: string): StreamState | undefined {
    return this.#states.get(url);
  }

  #send(message: Up): void {
    this.#link.send(message);
  }

  #receive(message: Down): void {
    if (message.t === 'worker') return;
    if (message.t === 'key') {
      if (message.first !== true || message.key !== null) this.#key = message.key;
      for (const tell of this.#keys) tell(message.key, message.first === true);
      return;
    }
    const all = this.#subscribers.get(message.url);
    if (all === undefined) return;
    if (message.t === 'state') {
      if (message.state.kind === 'connecting' && this.#moving.has(message.url)) return;
      this.#moving.delete(message.url);
      this.#states.set(message.url, message.state);
    }
    for (const one of [...all.keys()]) {
      if (message.t === 'frame') one.frame?.(message.frame);
      else if (message.t === 'live') one.live?.(message.gap);
      else one.state?.(message.state);
    }
  }

  /** Whoever holds the streams now knows nothing of this page: all is asked for, and read, again. */
  #again(moved: boolean): void {
    // That somebody has signed out the old one may not have told the others any more. Whoever has slept through it says nothing: another may be in.
    if (typeof this.#key === 'string' && isSignedOut()) this.signedOut();
    else if (this.#key !== undefined) this.#send({ t: 'key', key: this.#key, offered: this.#key !== null, out: lastSignOut() });
    if (this.#heartbeatMs !== undefined) this.#send({ t: 'heartbeat', ms: this.#heartbeatMs });
    for (const [url, all] of this.#subscribers) {
      // What only moves is told as live until it is: nobody need look up for that.
      if (moved && this.#states.get(url)?.kind === 'live') this.#moving.add(url);
      else this.#receive({ t: 'state', url, state: { kind: 'waiting', retryAt: performance.now(), why: 'what held it has ended' } });
      const keep = [...all.values()].some(Boolean);
      if (keep || !this.#asleep) this.#send({ t: 'join', url, keep, whole: isWhole(all) });
    }
  }

  #watch(): void {
    let timer: ReturnType<typeof setTimeout> | undefined;
    document.addEventListener('visibilitychange', () => {
      clearTimeout(timer);
      if (document.hidden) timer = setTimeout(() => this.#sleep(), HIDDEN_MS);
      else this.#awake();
    });
    addEventListener('online', () => this.#send({ t: 'wake' }));
  }

  #sleep(): void {
    this.#asleep = true;
    for (const [url, all] of this.#subscribers) if (![...all.values()].some(Boolean)) this.#send({ t: 'leave', url });
  }

  #awake(): void {
    this.#send({ t: 'wake' });
    if (!this.#asleep) return;
    this.#asleep = false;
    for (const [url, all] of this.#subscribers)
      if (![...all.values()].some(Boolean)) this.#send({ t: 'join', url, keep: false, whole: isWhole(all) });
  }
}

export const hub = new Hub();
