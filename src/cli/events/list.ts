import type { Io } from '../io.js';
import { PAGE_SIZE, type Feed, type Page } from './feed.js';
import { matches, type Envelope } from './filter.js';
import type { EventsRequest } from './options.js';

/**
 * One JSON object a line, oldest first. Behind a position the pages come in that order already and are written as
 * they arrive; without one they come newest first and are turned round. Only a list without `--since` and without a
 * position stops, at the newest 500 matches, and says so. A page may be short or empty although more pages follow.
 */
export async function listEvents(feed: Feed, request: EventsRequest, io: Io): Promise<void> {
  if (request.after !== undefined) {
    for await (const page of pages(feed, request)) await write(matching(page, request), io);
    return;
  }
  const collected: Envelope[][] = [];
  let count = 0;
  for await (const page of pages(feed, request)) {
    const items = matching(page, request);
    collected.push(items);
    count += items.length;
    if (request.since !== undefined || count < PAGE_SIZE) continue;
    if (page.next !== undefined) {
      io.err(`svc events: showing the newest ${count} events; there are more: use --since, --after or --after-cursor\n`);
    }
    break;
  }
  for (const items of collected.reverse()) await write(items.reverse(), io);
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
  if (items.length > 0) await io.out(items.map((item) => `${JSON.stringify(item)}\n`).join(''));
}
