const NEWLINE = 10;
const ID = Buffer.from('id: ');
const EVENT = Buffer.from('event: event\n');
const STAMP = Buffer.from('"t": "');
const STAMP_DIGITS = 16;
const BOUNDARY = Buffer.from('\n\n');

/** What a client of one city's stream is told of its frames. */
export interface FrameSink {
  /** @param stampedUs when the event was published, by the clock that all processes share */
  event(id: number, stampedUs: number): void;
  bookmark(id: number): void;
}

/**
 * Cuts raw bytes of a stream into frames, with as little work a frame as it takes to see each id. A frame of which only
 * a part has come when the connection ends is not given: who resumes gets it again.
 */
export class FrameCutter {
  #carry: Buffer | undefined;

  constructor(private readonly sink: FrameSink) {}

  take(chunk: Buffer): void {
    const data = this.#carry === undefined ? chunk : Buffer.concat([this.#carry, chunk]);
    let from = 0;
    for (let end = data.indexOf(BOUNDARY); end >= 0; end = data.indexOf(BOUNDARY, from)) {
      this.#frame(data, from, end);
      from = end + BOUNDARY.length;
    }
    // The bytes belong to whoever reads next.
    this.#carry = from < data.length ? Buffer.from(data.subarray(from)) : undefined;
  }

  #frame(data: Buffer, from: number, end: number): void {
    if (!starts(data, ID, from)) return;
    let id = 0;
    let at = from + ID.length;
    for (; at < end && data[at] !== NEWLINE; at++) id = id * 10 + (data[at]! - 48);
    if (!starts(data, EVENT, at + 1)) return this.sink.bookmark(id);
    const stamp = data.indexOf(STAMP, at) + STAMP.length;
    const stamped = stamp < STAMP.length || stamp > end ? NaN : Number(data.toString('latin1', stamp, stamp + STAMP_DIGITS));
    this.sink.event(id, stamped);
  }
}

function starts(data: Buffer, text: Buffer, at: number): boolean {
  return data.length >= at + text.length && data.compare(text, 0, text.length, at, at + text.length) === 0;
}
