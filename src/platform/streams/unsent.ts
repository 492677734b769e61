import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { handedBy, MAX_HELD_BYTES, STEADY_BYTES_MS } from './handed.js';

/** Counts the memory of unsent bytes. A buffer that was written to many streams counts once, and so does a page of which each stream has a part. */
export class HeldMemory {
  readonly #holders = new Map<ArrayBufferLike, number>();
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** @param isOwn whether the memory is used by one stream alone */
  add(part: Buffer | string, isOwn: boolean): void {
    if (isOwn || typeof part === 'string') return void (this.#bytes += part.length);
    const holders = this.#holders.get(part.buffer) ?? 0;
    if (holders === 0) this.#bytes += part.buffer.byteLength;
    this.#holders.set(part.buffer, holders + 1);
  }

  /** The share of one of the streams that use it. */
  share(part: Buffer | string, isOwn: boolean): number {
    return isOwn || typeof part === 'string' ? part.length : part.buffer.byteLength / this.#holders.get(part.buffer)!;
  }

  drop(part: Buffer | string, isOwn: boolean): void {
    if (isOwn || typeof part === 'string') return void (this.#bytes -= part.length);
    const left = this.#holders.get(part.buffer)! - 1;
    if (left > 0) return void this.#holders.set(part.buffer, left);
    this.#holders.delete(part.buffer);
    this.#bytes -= part.buffer.byteLength;
  }
}

/** Of a longer pause between two looks only this much counts as waiting: a busy process sees no client take anything. */
const SEEN_MS = 1_000;

/** The bytes of one stream that its socket still has. */
export class Unsent {
  readonly #parts: (Buffer | string)[] = [];
  /** TLS copies what it has under way, for each stream: all counts as copied, which is as much as it can be. */
  readonly #isOwn: boolean;
  #bytes = 0;
  /** It had unsent bytes at the last look. */
  #waits = false;
  #waitedMs = 0;
  #ahead = 0;
  #taken = 0;
  #lookedAt: number | undefined;
  #share = 0;

  constructor(
    readonly socket: Socket,
    /** The key or the city that the stream counts for. */
    readonly owner: string,
    private readonly memory: HeldMemory,
    private readonly begins: (unsent: Unsent) => void,
  ) {
    this.#isOwn = (socket as Partial<TLSSocket>).encrypted === true;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * What the system may still have for a client that reads 30 KB/s. It is never below zero for one that reads as much or more, however seldom the
   * system takes anything: the less it is, the longer the client has read less.
   */
  get ahead(): number {
    return this.#ahead;
  }

  /** For how long it was seen to have unsent bytes. */
  get waitedMs(): number {
    return this.#waitedMs;
  }

  /** The memory of this stream alone, and its part of memory that others use as well. */
  get share(): number {
    return this.#share;
  }

  /** Adds bytes that the socket did not hand on at once. */
  add(part: Buffer | string): void {
    if (this.#parts.length === 0) this.begins(this);
    this.#parts.push(part);
    this.#bytes += part.length;
    this.memory.add(part, this.#isOwn);
    this.settle();
  }

  /** Removes the bytes that the socket has handed on meanwhile. */
  settle(): void {
    const left = this.socket.destroyed ? 0 : this.socket.writableLength;
    let gone = 0;
    for (const part of this.#parts) {
      if (left > 0 && this.#bytes - part.length < left) break;
      this.#bytes -= part.length;
      this.memory.drop(part, this.#isOwn);
      gone++;
    }
    this.#parts.splice(0, gone);
  }

  /** @param now milliseconds */
  look(now: number): void {
    this.settle();
    const taken = handedBy(this.socket);
    const ms = Math.max(0, now - (this.#lookedAt ?? now));
    const seenMs = Math.min(ms, SEEN_MS);
    // Who had got everything was not slow since.
    const left = this.#waits ? this.#ahead - seenMs * STEADY_BYTES_MS : Math.max(0, this.#ahead - ms * STEADY_BYTES_MS);
    this.#ahead = Math.max(-MAX_HELD_BYTES, Math.min(MAX_HELD_BYTES, left + Math.max(0, taken - this.#taken)));
    this.#waitedMs = this.#waits ? this.#waitedMs + seenMs : 0;
    this.#waits = this.#bytes > 0;
    this.#taken = taken;
    this.#lookedAt = now;
  }

  /** Computes its share anew. @returns the number of parts that took */
  weigh(): number {
    this.#share = 0;
    for (const part of this.#parts) this.#share += this.memory.share(part, this.#isOwn);
    return this.#parts.length;
  }

  cut(): void {
    this.socket.destroy();
    this.settle();
  }
}
