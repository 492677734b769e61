import type { Party } from '../turns/turns.js';

/** How long a request waits in line, and how many bytes those of one owner may be. */
export interface LineLimits {
  readonly waitMs: number;
  readonly bytes: number;
}

/** Of a line, so much is for what is no read: who writes without end can still look at what came of it. */
const WRITES = 0.75;

/** What a caller has in line: requests that wait, and those whose bodies are still coming. */
interface Line {
  requests: number;
  bytes: number;
  /** Those of them that are no reads. */
  writes: number;
}

/** A request that is in line. */
interface InLine {
  readonly party: Party;
  readonly isRead: boolean;
  /** What it takes of the line while it is in it. */
  bytes: number;
}

/** What waits in this process, of each owner: a line has an end, in requests and in bytes. */
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

  /** Puts a request into its caller's line, of which it takes so many bytes `now`. False when that has no room for all its `bytes`. */
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

  /** However long the line is. */
  add(one: InLine, bytes: number): void {
    const { owner } = one.party;
    const line = this.#lines.get(owner) ?? { requests: 0, bytes: 0, writes: 0 };
    one.bytes = bytes;
    line.requests++;
    if (!one.isRead) line.writes++;
    line.bytes += bytes;
    this.#lines.set(owner, line);
  }

  /** More of one that is in line has come. False when there is no room for it. */
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
