import type { Down, Up } from './messages.js';
import { Stream, type Surroundings } from './stream.js';

/** Of the six connections that a browser has for an origin, so that there are always some for requests. */
const MOST = 4;
/** How long a stream may say nothing, until the service has told how often it does at the least. */
const SILENCE_MS = 35_000;
const LEAST_SILENCE_MS = 5_000;
/** Whoever goes to another view leaves one stream and joins the next: the room in between is nobody's. */
const FREE_MS = 1_000;

/** One page, or one part of it, that listens. */
export interface Listener {
  readonly tell: (message: Down) => void;
}

interface Held {
  stream: Stream;
  readonly listeners: Map<Listener, { keep: boolean }>;
  joined: number;
}

/** The streams of all pages of a browser, each opened once however many listen. Lives in the shared worker, or in the page where there is none. */
export class Streams {
  readonly #held = new Map<string, Held>();
  readonly #listeners = new Set<Listener>();
  #key: string | null = null;
  /** The last sign-out before it came. */
  #out = '';
  #turn = 0;
  #silenceMs = SILENCE_MS;
  #filling = false;

  constructor(private readonly around: Surroundings) {}

  get key(): string | null {
    return this.#key;
  }

  get open(): number {
    return [...this.#held.values()].filter(({ stream }) => active(stream)).length;
  }

  add(listener: Listener): void {
    this.#listeners.add(listener);
    listener.tell({ t: 'key', key: this.#key, out: this.#out, first: true });
  }

  remove(listener: Listener): void {
    this.#listeners.delete(listener);
    for (const url of [...this.#held.keys()]) this.#leave(listener, url);
  }

  handle(listener: Listener, message: Up): void {
    if (message.t === 'join') this.#join(listener, message);
    else if (message.t === 'leave') this.#leave(listener, message.url);
    else if (message.t === 'wake') for (const { stream } of this.#held.values()) stream.wake();
    else if (message.t === 'key') {
      if (message.offered !== true || this.#key === null) this.#use(message.key, message.out);
    } else if (message.t === 'forget') {
      if (message.out === this.#out) this.#use(null);
    } else if (message.t === 'heartbeat') this.#hear(message.ms);
  }

  /** What a stream has said so far tells nothing of how long it may be silent: the service does. */
  #hear(everyMs: number): void {
    const silenceMs = Math.max(LEAST_SILENCE_MS, everyMs * 2.5);
    if (silenceMs === this.#silenceMs) return;
    this.#silenceMs = silenceMs;
    for (const { stream } of this.#held.values()) stream.watch();
  }

  /** Another key is somebody else: every stream begins anew, and what it had is read again. */
  #use(key: string | null, out = ''): void {
    this.#out = out;
    const another = key !== this.#key;
    this.#key = key;
    if (another) for (const listener of this.#listeners) listener.tell({ t: 'key', key, out });
    // Said once more it may be good by now.
    const anew = [...this.#held.values()].filter(({ stream: { state } }) => (another ? state.kind !== 'paused' : state.kind === 'refused'));
    for (const { stream } of anew) stream.pause();
    // Of those that were refused there may be more than have room.
    this.#fill();
    for (const held of anew) if (held.stream.state.kind === 'paused') this.#tellPaused(held);
  }

  /**
   * Of a stream whose history is not to be read elsewhere the second listener wants the beginning, too: it begins anew, for all who listen.
   * One connection for each of them would leave none for requests.
   */
  #join(listener: Listener, { url, keep, whole = false }: Extract<Up, { t: 'join' }>): void {
    const held = this.#held.get(url);
    if (held === undefined) {
      this.#makeRoom(url);
      const listeners = new Map([[listener, { keep }]]);
      this.#held.set(url, { stream: this.#start(url, listeners), listeners, joined: ++this.#turn });
      return;
    }
    held.listeners.set(listener, { keep });
    held.joined = ++this.#turn;
    if (!active(held.stream) && held.stream.state.kind !== 'refused') {
      this.#makeRoom(url);
      this.#restart(held);
      return;
    }
    if (whole && active(held.stream) && held.stream.begun) return this.#restart(held);
    listener.tell({ t: 'state', url, state: held.stream.state });
    if (held.stream.live) listener.tell({ t: 'live', url, gap: true });
  }

  #leave(listener: Listener, url: string): void {
    const held = this.#held.get(url);
    if (held === undefined || !held.listeners.delete(listener) || held.listeners.size > 0) return;
    held.stream.stop();
    this.#held.delete(url);
    if (this.#filling) return;
    this.#filling = true;
    void this.around.wait(FREE_MS, new AbortController().signal).then(() => {
      this.#filling = false;
      this.#fill();
    });
  }

  /** Where there is room again, those that wait go on, the one that was asked for last first; one that must not wait does in any case. */
  #fill(): void {
    const paused = [...this.#held.values()].filter(({ stream }) => stream.state.kind === 'paused');
    for (const held of paused.filter(kept)) this.#restart(held);
    const others = paused.filter((held) => !kept(held)).sort((a, b) => b.joined - a.joined);
    for (const held of others) if (this.open < MOST) this.#restart(held);
  }

  #start(url: string, listeners: Held['listeners']): Stream {
    const tell = (message: Down): void => {
      // One that was replaced, or waits by now, may still have something to say.
      if ((this.#held.get(url)?.stream !== stream && this.#held.has(url)) || stream.state.kind === 'paused') return;
      for (const listener of listeners.keys()) listener.tell(message);
      if (message.t === 'live') this.#hurry(stream);
    };
    const stream: Stream = new Stream(
      url,
      () => this.#key,
      () => this.#silenceMs,
      (message) => queueMicrotask(() => tell(message)),
      this.around,
    );
    return stream;
  }

  /** Where one is answered the others are as well: whichever of them was to try again first has found that out for all. */
  #hurry(but: Stream): void {
    for (const { stream } of this.#held.values()) if (stream !== but && stream.state.kind === 'waiting') stream.wake();
  }

  #restart(held: Held): void {
    const { url } = held.stream;
    held.stream.stop();
    held.stream = this.#start(url, held.listeners);
  }

  /** The stream that nobody has asked for for the longest time waits, unless it is one that must not. */
  #makeRoom(but: string): void {
    if (this.open < MOST) return;
    const [oldest] = [...this.#held.values()]
      .filter((held) => held.stream.url !== but && active(held.stream) && !kept(held))
      .sort((a, b) => a.joined - b.joined);
    if (oldest === undefined) return;
    oldest.stream.pause();
    this.#tellPaused(oldest);
  }

  #tellPaused({ stream: { url, state }, listeners }: Held): void {
    for (const listener of listeners.keys()) listener.tell({ t: 'state', url, state });
  }
}

const kept = ({ listeners }: Held): boolean => [...listeners.values()].some(({ keep }) => keep);

const active = ({ state }: Stream): boolean => !['paused', 'ended', 'refused'].includes(state.kind);
