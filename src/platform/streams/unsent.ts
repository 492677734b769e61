import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

/** Memory that is kept for what was written. What many streams were written is there once, and so is a page of which each has a part. */
export class HeldMemory {
  readonly #holders = new Map<ArrayBufferLike, number>();
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** @param isOwn whether it is there for one stream alone */
  add(part: Buffer | string, isOwn: boolean): void {
    if (isOwn || typeof part === 'string') return void (this.#bytes += part.length);
    const holders = this.#holders.get(part.buffer) ?? 0;
    if (holders === 0) this.#bytes += part.buffer.byteLength;
    this.#holders.set(part.buffer, holders + 1);
  }

  drop(part: Buffer | string, isOwn: boolean): void {
    if (isOwn || typeof part === 'string') return void (this.#bytes -= part.length);
    const left = this.#holders.get(part.buffer)! - 1;
    if (left > 0) return void this.#holders.set(part.buffer, left);
    this.#holders.delete(part.buffer);
    this.#bytes -= part.buffer.byteLength;
  }
}

/** How much of what was written had been taken at a moment. */
interface Mark {
  readonly at: number;
  readonly taken: number;
}

/** A client may take a megabyte at once, and then nothing for a minute: over less its pace cannot be told. */
const PACE_MS = 60_000;

/** What was written for one stream and its socket still has. */
export class Unsent {
  readonly #parts: (Buffer | string)[] = [];
  /** TLS makes a copy for each. */
  readonly #isOwn: boolean;
  #bytes = 0;
  /** Since it has had something unsent, of the last two minutes at the most. */
  #from: Mark | undefined;
  #next: Mark | undefined;

  constructor(
    readonly socket: Socket,
    /** The key or the city whose stream it is. */
    readonly owner: string,
    private readonly memory: HeldMemory,
    private readonly begins: (unsent: Unsent) => void,
  ) {
    this.#isOwn = (socket as Partial<TLSSocket>).encrypted === true;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** For what the socket did not hand on at once. */
  add(part: Buffer | string): void {
    if (this.#parts.length === 0) this.begins(this);
    this.#parts.push(part);
    this.#bytes += part.length;
    this.memory.add(part, this.#isOwn);
    this.settle();
  }

  /** Lets go of what the socket has handed on meanwhile. */
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

  look(now: number): void {
    this.settle();
    if (this.#bytes === 0) this.#from = this.#next = undefined;
    else if (this.#from === undefined || this.#next === undefined) this.#from = this.#next = { at: now, taken: handedBy(this.socket) };
    else if (now - this.#next.at >= PACE_MS) [this.#from, this.#next] = [this.#next, { at: now, taken: handedBy(this.socket) }];
  }

  /** For how long it has been seen to have something unsent, and how many bytes a millisecond its client has taken in that time. */
  pace(now: number): { readonly ms: number; readonly rate: number } {
    const ms = this.#from === undefined ? 0 : now - this.#from.at;
    return { ms, rate: ms === 0 ? Infinity : (handedBy(this.socket) - this.#from!.taken) / ms };
  }

  cut(): void {
    this.socket.destroy();
    this.settle();
  }
}

interface Handle {
  readonly bytesWritten: number;
  readonly writeQueueSize: number;
  /** Below TLS. */
  readonly _parent?: Handle;
}

/**
 * What the system has taken of all that was written. To the socket a long write counts as nothing until all of it is taken; Node's own timeouts look
 * here, too.
 */
export function handedBy(socket: Socket & { readonly _handle?: Handle | null }): number {
  const handle = socket._handle;
  if (handle?.bytesWritten === undefined) return socket.bytesWritten - socket.writableLength;
  return handle.bytesWritten - handle.writeQueueSize - (handle._parent?.writeQueueSize ?? 0);
}
