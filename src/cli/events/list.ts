import type { Io } from '../io.js';
import type { Feed, Page } from './feed.js';
import { matches, type Envelope } from './filter.js';
import { eventLine } from './line.js';
import type { EventsRequest } from './options.js';

/** How many pages are kept while the beginning of the log is looked for. */
const HELD_PAGES = 20;

/**
 * One JSON object a line, oldest first. Behind a position the pages come in that order already and are written as
 * they arrive; without one they come newest first and are turned round. A page may be short or empty although more
 * pages follow. Returns the last of each log that was listed.
 */
export async function listEvents(feed: Feed, request: EventsRequest, io: Io): Promise<ReadonlyMap<string, number>> {
  const last = new Map<string, number>();
  const listed = (items: readonly Envelope[]): Promise<void> => {
    for (const { stream = '', seq = 0 } of items) last.set(stream, Math.max(seq, last.get(stream) ?? 0));
    return write(items, io);
  };
  if (request.after !== undefined) {
    for await (const page of pages(feed, request)) await listed(matching(page, request));
    return last;
  }
  const newest: Envelope[][] = [];
  const older: string[] = [];
  let next: string | undefined;
  for await (const page of pages(feed, request)) {
    if (newest.length < HELD_PAGES) newest.push(matching(page, request));
    else older.push(next!);
    next = page.next;
  }
  // A log of any length is told in the memory of a few pages: the others are asked for once more, from the oldest.
  for (const cursor of older.reverse()) {
    const page = await feed.page({ filter: request.filter, since: request.since, after: undefined, cursor });
    await listed(matching(page, request).reverse());
  }
  for (const items of newest.reverse()) await listed(items.reverse());
  return last;
}

/** The pages of a list, as many as there are. */
export async function* pages(feed: Feed, request: EventsRequest): AsyncGenerator<Page, void, undefined> {
  const { since, after, filter } = request;
  let cursor: string | undefined;
  do {
    const page = await feed.page({ filter, since, after: cursor === undefined ? after : undefined, cursor });
    yield page;
    cursor = page.next;
  } while (cursor !== undefined);
}

/** What of a page matches: the server knows most filters, not all. */
export function matching(page: Page, request: EventsRequest): Envelope[] {
  return page.items.filter((item) => matches(item, request.filter));
}

export async function write(items: readonly Envelope[], io: Io): Promise<void> {
  const line = (item: Envelope): string => (io.readable === true ? eventLine(item, io) : `${JSON.stringify(item)}\n`);
  if (items.length > 0) await io.out(items.map(line).join(''));
}
