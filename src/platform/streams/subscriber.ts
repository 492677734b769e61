import type { Socket } from 'node:net';
import type { EpochEnds } from '../event-log/epochs.js';
import { handedBy, MAX_HELD_BYTES, STEADY_BYTES_MS } from './handed.js';
import type { CheckpointBase } from './positions.js';
import type { Unsent } from './unsent.js';

/** A subscriber with more than this unsent is not written to until it has read. */
export const MAX_PENDING_BYTES = 256 * 1024;
/** A subscriber that reads nothing for this long is closed; it resumes by id. */
export const STALL_LIMIT_MS = 10_000;

/** Events of a stream that a subscriber needs from the log before the ring: after `pos`, up to `upto`. */
export interface Lag {
  pos: number;
  upto: number;
  /** Set for a stream that has left the feed: its name is needed to write the position. */
  readonly name?: string;
  /** The epoch ends of a stream that has left. */
  readonly ends?: EpochEnds;
  /** Set for a stream that joined while the client was away: ids name it until all of the lag is done, even when it has left again and has no more events. */
  readonly stays?: boolean;
}

/**
 * One open stream. Its position is exact at every moment: everything before ring index `next` was written,
 * except what `lag` names.
 */
export class Subscriber {
  /** `behind` subscribers are fed by their own loop, `live` ones by the channel's sweep. */
  state: 'behind' | 'live' | 'closed' = 'behind';
  /** The stored base that the ids of its replay count from. */
  base: CheckpointBase | undefined;
  next = 0;
  lag: Map<number, Lag> | undefined;
  beatAt: number;
  #seenHanded = 0;
  #seenAt: number;
  /** Bytes that the kernel may have buffered for the client at `#seenAt`. */
  #held = 0;
  #wake: (() => void) | undefined;

  constructor(
    readonly socket: Socket,
    heartbeatMs: number,
    private readonly onClose: (subscriber: Subscriber) => void,
    /** The key whose share its replays take. */
    readonly keyId?: string,
    private readonly unsent?: Unsent,
  ) {
    const now = Date.now();
    this.beatAt = now + heartbeatMs;
    this.#seenAt = now;
    socket.setTimeout(0);
    socket.setNoDelay(true);
    socket.on('drain', () => {
      // At once, without waiting for the next look: a snapshot has some megabytes.
      this.unsent?.settle();
      this.#wake?.();
    });
    socket.on('error', () => this.close());
    socket.on('close', () => {
      this.unsent?.settle();
      this.close();
    });
  }

  /** True while the socket asks not to be written to. */
  get full(): boolean {
    return this.socket.writableNeedDrain;
  }

  get congested(): boolean {
    return this.socket.writableLength > MAX_PENDING_BYTES;
  }

  write(bytes: Buffer | string): void {
    if (this.state === 'closed') return;
    this.socket.write(bytes);
    if (this.socket.writableLength > 0) this.unsent?.add(bytes);
  }

  /** Resolves when the socket has taken what was written, or the stream is closed. */
  drained(): Promise<void> {
    if (this.state === 'closed' || !this.socket.writableNeedDrain) return Promise.resolve();
    return new Promise<void>((resolve) => (this.#wake = resolve)).then(() => {
      this.#wake = undefined;
    });
  }

  /**
   * True when bytes have waited for STALL_LIMIT_MS and the client took none of them. The kernel takes more only once a part of its
   * buffer is free, which may be a megabyte and more. So a client also has the time in which one that reads steadily would empty that.
   */
  stalled(now: number): boolean {
    const handed = handedBy(this.socket);
    if (handed !== this.#seenHanded || this.socket.writableLength === 0) {
      const left = Math.max(0, this.#held - (now - this.#seenAt) * STEADY_BYTES_MS);
      this.#held = Math.min(MAX_HELD_BYTES, left + Math.max(0, handed - this.#seenHanded));
      this.#seenHanded = handed;
      this.#seenAt = now;
      return false;
    }
    return now - this.#seenAt >= STALL_LIMIT_MS + this.#held / STEADY_BYTES_MS;
  }

  /** Ends the stream cleanly: what is written still arrives, unless the client does not read. No channel checks that from now on. */
  end(farewell: string): void {
    if (this.state === 'closed') return;
    this.socket.end(farewell);
    this.socket.setTimeout(STALL_LIMIT_MS, () => this.socket.destroy());
    this.#gone();
  }

  close(): void {
    if (this.state === 'closed') return;
    this.socket.destroy();
    this.#gone();
  }

  #gone(): void {
    this.state = 'closed';
    this.lag = this.base = undefined;
    this.#wake?.();
    this.onClose(this);
  }
}
