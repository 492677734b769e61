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

export class PageCache {
  readonly #pages = new Map<string, Promise<Page>>();
  #bytes = 0;

  /** The page under `key`, loaded once. A page that could not be loaded is not kept. */
  get(key: string, load: () => Promise<Page>): Promise<Page> {
    const kept = this.#pages.get(key);
    if (kept !== undefined) {
      this.#pages.delete(key);
      this.#pages.set(key, kept);
      return kept;
    }
    const page = load();
    this.#pages.set(key, page);
    page.then(
      (p) => this.#grow(p.bytes.length),
      () => this.#pages.delete(key),
    );
    return page;
  }

  #grow(bytes: number): void {
    this.#bytes += bytes;
    for (const [key, page] of this.#pages) {
      if (this.#bytes <= MAX_BYTES) return;
      this.#pages.delete(key);
      void page.then((p) => (this.#bytes -= p.bytes.length));
    }
  }
}

/** The bytes of a page from event `after + 1` to `upto`, both within the page. */
export function slicePage(page: Page, after: number, upto: number): Buffer {
  const from = page.offsets[Math.max(after + 1, page.first) - page.first] ?? page.bytes.length;
  const to = upto >= page.last ? page.bytes.length : page.offsets[upto + 1 - page.first]!;
  return page.bytes.subarray(from, to);
}
