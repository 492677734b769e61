const LIMIT = 64 * 1024;

/** The last bytes of an output without end. */
export class Tail {
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(private readonly limit = LIMIT) {}

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    // Joined only when twice the limit is there, so that a byte is copied once on average.
    if (this.#bytes > 2 * this.limit) this.#chunks = [this.#last()];
    this.#bytes = this.#chunks.length === 1 ? this.#chunks[0]!.length : this.#bytes;
  }

  text(): string {
    const all = this.#last();
    // A character may have been cut at the front: its continuation bytes are left out.
    let start = 0;
    while (start < 3 && start < all.length && (all[start]! & 0xc0) === 0x80) start++;
    return all.toString('utf8', start);
  }

  #last(): Buffer {
    return Buffer.from(Buffer.concat(this.#chunks).subarray(-this.limit));
  }
}
