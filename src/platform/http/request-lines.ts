import type { Party } from '../turns/turns.js';

export interface LineLimits {
  /** How long a request waits in line. */
  readonly waitMs: number;
  /** Bytes that the requests of one owner may take. */
  readonly bytes: number;
}

/** Share of a line that mutations may take: a client that writes without end can still read the results. */
const WRITES = 0.75;

/** The line of an owner: requests that wait, and requests whose bodies are still arriving. */
interface Line {
  requests: number;
  bytes: number;
  /** Requests that are no reads. */
  writes: number;
}

/** A request that is in line. */
interface InLine {
  readonly party: Party;
  readonly isRead: boolean;
  /** Bytes that it takes of the line. */
  bytes: number;
}

/** The lines of this process, one for each owner: each is bounded, in requests and in bytes. */
export class RequestLines {
  readonly #lines = new Map<string, Line>();

  constructor(
    private readonly waiting: number,
    private readonly limits: LineLimits,
  ) {}

  /** How many requests an owner has in line. */
  of(owner: string): number {
    return this.#lines.get(owner)?.requests ?? 0;
  }

  /** Puts a request into its owner's line. It takes `now` bytes at first. False when the line has no room for all its `bytes`. */
  join(one: InLine, bytes: number, now: number): boolean {
    const line = this.#lines.get(one.party.owner);
    const { waiting } = this;
    const full =
      line !== undefined &&
      (line.requests >= waiting || line.bytes + bytes > this.limits.bytes || (!one.isRead && line.writes >= Math.ceil(waiting * WRITES)));
    if (full) return false;
    this.add(one, now);
    return true;
  }

  /** Puts a request into its owner's line whatever the limits. */
  add(one: InLine, bytes: number): void {
    const { owner } = one.party;
    const line = this.#lines.get(owner) ?? { requests: 0, bytes: 0, writes: 0 };
    one.bytes = bytes;
    line.requests++;
    if (!one.isRead) line.writes++;
    line.bytes += bytes;
    this.#lines.set(owner, line);
  }

  /** More bytes of a request in line have arrived. False when there is no room for them. */
  grow(one: InLine, bytes: number): boolean {
    const line = this.#lines.get(one.party.owner)!;
    if (line.bytes + bytes > this.limits.bytes) return false;
    line.bytes += bytes;
    one.bytes += bytes;
    return true;
  }

  part(one: InLine): void {
    const { owner } = one.party;
    const line = this.#lines.get(owner)!;
    line.requests--;
    if (!one.isRead) line.writes--;
    line.bytes -= one.bytes;
    if (line.requests === 0) this.#lines.delete(owner);
  }
}
