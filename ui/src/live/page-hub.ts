import type { SignOuts } from '../api/signed-out.js';
import { Link, type Ways } from './link.js';
import type { Down, StreamState, Up } from './messages.js';

/** Somebody on this page who listens to a stream. */
export interface Subscriber {
  /** Its history comes at the beginning of the stream, and nowhere else. */
  readonly whole?: boolean;
  frame?(frame: { event: string; id: string; data: unknown }): void;
  /** Joined. With `gap` everything is to be read, now. */
  live?(gap: boolean): void;
  state?(state: StreamState): void;
}

const isWhole = (all: ReadonlyMap<Subscriber, boolean>): boolean => [...all.keys()].some(({ whole }) => whole);

/** How long it may take to tell what key other pages have: a worker that cannot be loaded keeps nobody waiting. */
const READY_MS = 1_000;

/** A key, and the last sign-out before it. */
export interface Held {
  readonly key: string | null;
  readonly out?: string | undefined;
}
type OnKey = (key: string | null, first: boolean, out: string | undefined) => void;

/** The streams of this page, wherever they are held. */
export class PageHub {
  readonly #subscribers = new Map<string, Map<Subscriber, boolean>>();
  readonly #states = new Map<string, StreamState>();
  /** When each has said something last: what was learnt from it is as of then. */
  readonly #heardAt = new Map<string, number>();
  /** Those that another one is opening in the place of one that was live. */
  readonly #moving = new Set<string>();
  readonly #link: Link;
  readonly #keys = new Set<OnKey>();
  #asleep = false;
  #key: string | null | undefined;
  /** It was chosen on this page, since others were last in the place of who held the streams before. */
  #own = false;
  #heartbeatMs: number | undefined;
  /** Settled once it is known whether another page has a key already. */
  readonly ready: Promise<Held>;

  /** @param outs the sign-outs in this browser */
  constructor(
    ways: Ways,
    private readonly outs: Pick<SignOuts, 'last' | 'since'>,
  ) {
    let known: (held: Held) => void = () => undefined;
    this.ready = new Promise((resolve) => (known = resolve));
    this.#keys.add((key, _first, out) => known({ key, out }));
    this.#link = new Link(
      ways,
      (message) => this.#receive(message),
      (moved) => this.#again(moved),
    );
    ways.wait(READY_MS, () => known({ key: null }));
  }

  onKey(listener: OnKey): void {
    this.#keys.add(listener);
  }

  useKey(key: string | null): void {
    this.#key = key;
    this.#own = true;
    this.#send({ t: 'key', key, out: this.outs.last() });
  }

  /** Used where no page has one: the worker may have had no time to say that another has. */
  offerKey(key: string | null): void {
    this.#key = key;
    this.#send({ t: 'key', key, offered: true, out: this.outs.last() });
  }

  /** Somebody has signed out elsewhere, and nobody may be there any more who tells this page of it. */
  signedOut(): void {
    this.#receive({ t: 'key', key: null });
    // Whoever holds the streams may have slept through it as well. Another key that it has by now stays.
    this.#forget();
  }

  /** The network is back, or somebody looks again. */
  wake(): void {
    this.#send({ t: 'wake' });
  }

  /** What was not there has come: who waits for it asks at once. */
  come(url: string): void {
    if (this.stateOf(url)?.kind === 'missing') this.wake();
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
      this.#heardAt.delete(url);
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

  /** By the clock of this browser; undefined before its first word. */
  heardAt(url: string): number | undefined {
    return this.#heardAt.get(url);
  }

  #send(message: Up): void {
    this.#link.send(message);
  }

  #receive(message: Down): void {
    if (message.t === 'worker') return;
    if (message.t === 'key') return this.#told(message);
    const all = this.#subscribers.get(message.url);
    if (all === undefined) return;
    if (message.t !== 'state') this.#heardAt.set(message.url, Date.now());
    else {
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

  #told({ key: told, first = false, out = '' }: Extract<Down, { t: 'key' }>): void {
    // Whoever holds the streams may have slept through a sign-out: nobody begins with a key of before it.
    const over = told !== null && this.outs.since(out);
    if (over) this.#send({ t: 'forget', out });
    const key = over ? null : told;
    if (first && this.#isOlder(out)) return;
    if (!first && key !== this.#key) this.#own = false;
    if (!first || key !== null) this.#key = key;
    for (const tell of this.#keys) tell(key, first, out);
  }

  /** Whether a key that somebody has from before is older than what was chosen here, which he will be told. */
  #isOlder(out: string): boolean {
    if (!this.#own) return false;
    return this.#key === null ? out === this.outs.last() : !this.outs.since();
  }

  /** A key of before the sign-out that this page knows of is none any more, wherever it is held; another one stays. */
  #forget(): void {
    this.#send({ t: 'forget', out: this.outs.last() });
  }

  /** Whoever holds the streams now knows nothing of this page: all is asked for, and read, again. */
  #again(moved: boolean): void {
    const own = moved && this.#own;
    this.#own = false;
    // That somebody has signed out the old one may not have told the others any more. Whoever has slept through it only has the old key forgotten:
    // another may be in.
    if (typeof this.#key === 'string' && this.outs.since()) this.signedOut();
    else if (this.#key === null) this.#forget();
    else if (this.#key !== undefined) this.#send({ t: 'key', key: this.#key, offered: !own, out: this.outs.last() });
    if (this.#heartbeatMs !== undefined) this.#send({ t: 'heartbeat', ms: this.#heartbeatMs });
    for (const [url, all] of this.#subscribers) {
      // What only moves is told as live until it is: nobody need look up for that.
      if (moved && this.#states.get(url)?.kind === 'live') this.#moving.add(url);
      else this.#receive({ t: 'state', url, state: { kind: 'waiting', retryAt: performance.now(), why: 'what held it has ended' } });
      const keep = [...all.values()].some(Boolean);
      if (keep || !this.#asleep) this.#send({ t: 'join', url, keep, whole: isWhole(all) });
    }
  }

  sleep(): void {
    this.#asleep = true;
    for (const [url, all] of this.#subscribers) if (![...all.values()].some(Boolean)) this.#send({ t: 'leave', url });
  }

  awake(): void {
    this.wake();
    if (!this.#asleep) return;
    this.#asleep = false;
    for (const [url, all] of this.#subscribers)
      if (![...all.values()].some(Boolean)) this.#send({ t: 'join', url, keep: false, whole: isWhole(all) });
  }
}
