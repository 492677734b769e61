/**
 * Pages of the log, shared by everybody who replays the same stretch: one query a page, also while it is in
 * flight. Pages are immutable (the log is), so the cache only has to forget.
 */
export const PAGE_EVENTS = 1_000;
const MAX_BYTES = 16 << 20;

/** Frames of one page as one buffer, from `first` to `last`; `offsets[i]` is where the frame of `first + i` begins. */
export interface Page {
  readonly first: number;
  readonly last: number;
  readonly bytes: Buffer;
  readonly offsets: Uint32Array;
}

interface Kept {
  readonly page: Promise<Page>;
  /** Undefined while it is being loaded. */
  bytes: number | undefined;
}

export class PageCache {
  /** The one that was asked for last is the last. */
  readonly #pages = new Map<string, Kept>();
  #bytes = 0;

  /** The page under `key`, loaded once. A page that could not be loaded is not kept. */
  get(key: string, load: () => Promise<Page>): Promise<Page> {
    const kept = this.#pages.get(key) ?? this.#load(key, load);
    this.#pages.delete(key);
    this.#pages.set(key, kept);
    return kept.page;
  }

  #load(key: string, load: () => Promise<Page>): Kept {
    const made: Kept = { page: load(), bytes: undefined };
    made.page.then(
      ({ bytes }) => this.#grow(made, bytes.length),
      () => this.#pages.delete(key),
    );
    return made;
  }

  #grow(loaded: Kept, bytes: number): void {
    loaded.bytes = bytes;
    this.#bytes += bytes;
    for (const [key, page] of this.#pages) {
      if (this.#bytes <= MAX_BYTES) return;
      // One that is being loaded holds nothing yet, and others wait for it.
      if (page.bytes === undefined) continue;
      this.#pages.delete(key);
      this.#bytes -= page.bytes;
    }
  }
}

/** The bytes of a page from event `after + 1` to `upto`, both within the page. */
export function slicePage(page: Page, after: number, upto: number): Buffer {
  const from = page.offsets[Math.max(after + 1, page.first) - page.first] ?? page.bytes.length;
  const to = upto >= page.last ? page.bytes.length : page.offsets[upto + 1 - page.first]!;
  return page.bytes.subarray(from, to);
}
