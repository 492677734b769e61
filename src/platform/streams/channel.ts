import type { Counter } from 'prom-client';
import { sleep } from '../time/clock.js';
import { databaseWaits } from '../turns/database-waits.js';
import { heartbeatFrame, placeFrame, retryFrame } from './sse.js';
import { Subscriber } from './subscriber.js';

/** A frame, encoded once for everybody who gets it. `bodyAt` is where the bytes after the id line begin. */
export interface Frame {
  readonly bytes: Buffer;
  readonly bodyAt: number;
  readonly streamId: number;
  readonly seq: number;
  /** The position before it, where that is not `seq - 1`. */
  readonly after?: number;
}

/** Gives a channel's subscribers the events that the ring does not hold, and the channel its position. */
export interface ChannelSource {
  /** The next bytes for a subscriber with a lag; moves its lag on, and removes it when it is caught up. */
  replay(subscriber: Subscriber): Promise<Buffer | undefined>;
  /** The position after everything published so far. */
  currentId(): string;
  /** The position of a subscriber that is behind; undefined where it is too long to be sent between events. */
  replayId?(subscriber: Subscriber): string | undefined;
}

/** How much a ring keeps, for slower subscribers and for those that resume. */
export interface RingLimit {
  readonly frames: number;
  readonly bytes: number;
}

export const LOG_RING: RingLimit = { frames: 4_096, bytes: 8 << 20 };
/** A ring grows to its limit times this before it is cut back to the limit. */
export const RING_SLACK = 1.25;
/** A sweep yields the event loop after this time. A request waits for three such slices: to be read, to ask the database, and to be answered. */
const SLICE_MS = 0.25;
/** Pause between sweeps, in which frames are joined: 0.1 ms for each subscriber, 10 ms at most. A sweep takes about 10 µs for each. */
const JOIN_MS = 10;
const JOIN_MS_EACH = 0.1;
/** Bytes of the ring: a write ends with the frame that reaches this. */
const CHUNK_BYTES = 128 * 1024;
/** Pause after a replay that failed. */
const RETRY_REPLAY_MS = 250;
/** A subscriber whose replay fails for this long is ended. */
const REPLAY_LIMIT_MS = 10_000;
/** A client that is put off reconnects after this many times the usual pause: 5 to 20 s. */
const LATER = 10;

/**
 * Subscribers with equal rights and filters, and a ring of the frames they get. A frame is written at once
 * when the channel is quiet. While more keep coming, the frames of up to 10 ms share one write, of less with few subscribers. Sweeps over the
 * subscribers are cut into slices of 0.25 ms so that the API of the process stays fast.
 */
export class Channel {
  readonly #subscribers = new Set<Subscriber>();
  #ring: Frame[] = [];
  #base = 0;
  #bytes = 0;
  #flushAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #sweeping = false;
  #ended = false;
  #retired = false;

  constructor(
    private readonly source: ChannelSource,
    private readonly sent: Counter,
    private readonly limit = LOG_RING,
  ) {}

  get size(): number {
    return this.#subscribers.size;
  }

  get isRetired(): boolean {
    return this.#retired;
  }
  /** Index of the first frame in the ring, and one past the last. */
  get base(): number {
    return this.#base;
  }
  get end(): number {
    return this.#base + this.#ring.length;
  }
  /** Bytes in the ring. */
  get bytes(): number {
    return this.#bytes;
  }

  frame(index: number): Frame | undefined {
    return this.#ring[index - this.#base];
  }

  publish(frame: Frame): void {
    this.#ring.push(frame);
    this.#bytes += frame.bytes.length;
    this.#cut();
    this.#schedule();
  }

  /** Adds a subscriber whose `next` and `lag` are set, and feeds it until it is live. */
  attach(subscriber: Subscriber): void {
    if (this.#retired) return subscriber.end(retryFrame());
    this.#subscribers.add(subscriber);
    void this.#feed(subscriber);
  }

  remove(subscriber: Subscriber): void {
    this.#subscribers.delete(subscriber);
  }

  /** Nothing is published here any more. A subscriber that comes late, from an opening that was held up, is ended and has to open again. */
  retire(): void {
    this.#retired = true;
  }

  /** Once everything published is written, every stream of this channel ends cleanly. */
  endAll(): void {
    this.#ended = true;
    this.#schedule();
  }

  /** Ends all streams now. Those that have everything get their position first. */
  shutdown(now: Date): void {
    const bookmark = heartbeatFrame(this.source.currentId(), now);
    for (const s of [...this.#subscribers]) s.end(this.#isCurrent(s) ? bookmark + retryFrame() : retryFrame());
  }

  /**
   * Writes due heartbeats and closes streams that take nothing. A replay that finds no matching events for minutes sends its place instead: otherwise its client
   * would take the connection for dead, and begin again. A heartbeat would tell the client that the replay is over.
   */
  tick(now: number, heartbeatMs: number): void {
    let bookmark: string | undefined;
    this.#cut(); // the limit may have changed
    for (const s of this.#subscribers) {
      if (s.stalled(now)) s.close();
      else if (now >= s.beatAt) {
        s.beatAt = now + heartbeatMs;
        if (this.#isCurrent(s)) s.write((bookmark ??= heartbeatFrame(this.source.currentId(), new Date(now))));
        else if (s.state === 'behind' && !s.full) s.write(placeFrame(this.source.replayId?.(s)));
      }
    }
  }

  #isCurrent(s: Subscriber): boolean {
    return s.state === 'live' && s.next === this.end;
  }

  #schedule(): void {
    if (this.#sweeping || this.#timer !== undefined) return;
    const wait = this.#flushAt + Math.min(JOIN_MS, this.#subscribers.size * JOIN_MS_EACH) - performance.now();
    if (wait <= 0) void this.#sweep();
    else this.#timer = setTimeout(() => void this.#sweep(), wait);
  }

  async #sweep(): Promise<void> {
    this.#timer = undefined;
    this.#sweeping = true;
    const cache = new Map<number, Buffer | undefined>();
    let cachedEnd = -1;
    let started = performance.now();
    const target = this.end;
    let count = 0;
    for (const s of this.#subscribers) {
      if (s.state === 'live' && s.next < this.end) {
        if (cachedEnd !== this.end) {
          cache.clear();
          cachedEnd = this.end;
        }
        this.#writeLive(s, cache);
      }
      if (++count % 8 === 0 && performance.now() - started > SLICE_MS) {
        await databaseWaits.yieldTurn();
        started = performance.now();
      }
    }
    this.#flushAt = performance.now();
    this.#sweeping = false;
    if (this.end > target) this.#schedule();
    else if (this.#ended) this.#finish();
  }

  /** Writes the rest of the ring to a live subscriber. If that is too long for one write the subscriber is fed in chunks, as fast as it takes them. */
  #writeLive(s: Subscriber, cache: Map<number, Buffer | undefined>): void {
    if (!cache.has(s.next)) cache.set(s.next, this.#chunkEnd(s.next) < this.end ? undefined : this.#join(s.next, this.end));
    const bytes = cache.get(s.next);
    if (bytes === undefined || s.congested) {
      s.state = 'behind';
      void this.#feed(s);
      return;
    }
    this.sent.inc(this.end - s.next);
    s.next = this.end;
    s.write(bytes);
  }

  #join(from: number, to: number): Buffer {
    if (to - from === 1) return this.#ring[from - this.#base]!.bytes;
    return Buffer.concat(this.#ring.slice(from - this.#base, to - this.#base).map((f) => f.bytes));
  }

  /** Feeds a subscriber that is behind: its lag from the log first, then the ring. Then it is live. */
  async #feed(s: Subscriber): Promise<void> {
    let failingSince: number | undefined;
    while (s.state !== 'closed') {
      if (s.full) await s.drained();
      else if (s.lag !== undefined) {
        try {
          const bytes = await this.source.replay(s);
          if (bytes !== undefined) s.write(bytes);
          failingSince = undefined;
        } catch (error) {
          failingSince ??= Date.now();
          if (error instanceof StreamPutOff) return s.end(retryFrame(LATER));
          if (error instanceof StreamExpired || Date.now() - failingSince > REPLAY_LIMIT_MS) return s.end(retryFrame());
          await sleep(RETRY_REPLAY_MS);
        }
      } else if (s.next < this.end) {
        const to = this.#chunkEnd(s.next);
        const bytes = this.#join(s.next, to);
        this.sent.inc(to - s.next);
        s.next = to;
        s.write(bytes);
      } else {
        s.state = 'live';
        s.write(heartbeatFrame(this.source.currentId(), new Date()));
        if (this.#ended) this.#finish();
        return;
      }
    }
  }

  #chunkEnd(from: number): number {
    let bytes = 0;
    let to = from;
    while (to < this.end && bytes < CHUNK_BYTES) bytes += this.#ring[to++ - this.#base]!.bytes.length;
    return to;
  }

  #finish(): void {
    for (const s of [...this.#subscribers]) if (this.#isCurrent(s)) s.end(retryFrame());
  }

  #cut(): void {
    if (this.#ring.length > this.limit.frames * RING_SLACK || this.#bytes > this.limit.bytes * RING_SLACK) this.#trim();
  }

  /** Drops the oldest frames. Subscribers that still need them get them from the log: their lag remembers exactly which. */
  #trim(): void {
    let drop = Math.max(0, this.#ring.length - this.limit.frames);
    let bytes = this.#bytes;
    for (let i = 0; i < this.#ring.length; i++) {
      if (i >= drop && bytes <= this.limit.bytes) break;
      bytes -= this.#ring[i]!.bytes.length;
      drop = Math.max(drop, i + 1);
    }
    const base = this.#base + drop;
    for (const s of this.#subscribers) {
      if (s.next >= base) continue;
      for (let i = s.next; i < base; i++) addLag(s, this.#ring[i - this.#base]!);
      s.next = base;
      if (s.state === 'live') {
        s.state = 'behind';
        void this.#feed(s);
      }
    }
    this.#ring = this.#ring.slice(drop);
    this.#base = base;
    this.#bytes = bytes;
  }
}

/** The log no longer holds what a subscriber needs; it reconnects and is told so. */
export class StreamExpired extends Error {}

/** A replay needs more stored positions than its key may have now. The client keeps its position and comes back later. */
export class StreamPutOff extends Error {}

function addLag(s: Subscriber, frame: Frame): void {
  s.lag ??= new Map();
  const lag = s.lag.get(frame.streamId);
  if (lag === undefined) s.lag.set(frame.streamId, { pos: frame.after ?? frame.seq - 1, upto: frame.seq });
  else lag.upto = Math.max(lag.upto, frame.seq);
}
