const LIMIT = 64 * 1024;
/** What may be left of a name, of a word such as `Bearer`, and of their value, where an output without lines is cut. */
const PARTS = /^[\s,]*(?:[^\s,]+[\s,]+){3}/;

/** The last bytes of an output without end, from the first whole line on: half a line may have a secret whose name is gone. */
export class Tail {
  #chunks: Buffer[] = [];
  #bytes = 0;
  #isCut = false;

  constructor(private readonly limit = LIMIT) {}

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    // Joined only when twice the limit is there, so that a byte is copied once on average.
    if (this.#bytes > 2 * this.limit) this.#chunks = [this.#last()];
    this.#bytes = this.#chunks.length === 1 ? this.#chunks[0]!.length : this.#bytes;
  }

  text(): string {
    const text = this.#last().toString();
    if (!this.#isCut) return text;
    const lines = text.slice(text.indexOf('\n') + 1);
    if (lines !== '' && lines !== text) return lines;
    const cut = PARTS.exec(text);
    return cut === null ? '' : text.slice(cut[0].length);
  }

  #last(): Buffer {
    const all = Buffer.concat(this.#chunks);
    this.#isCut ||= all.length > this.limit;
    return Buffer.from(all.subarray(-this.limit));
  }
}
