import type { Io } from '../io.js';
import type { Feed, Page } from './feed.js';
import { matches, type Envelope } from './filter.js';
import type { EventsRequest } from './options.js';

/**
 * One JSON object a line, oldest first. Behind a position the pages come in that order already and are written as
 * they arrive; without one they come newest first and are turned round. Only a list without `--since` and without a
 * position stops at the newest page, and says so.
 */
export async function listEvents(feed: Feed, request: EventsRequest, io: Io): Promise<void> {
  if (request.after !== undefined) {
    for await (const page of pages(feed, request)) await write(page.items, request, io);
    return;
  }
  const collected: Envelope[][] = [];
  for await (const page of pages(feed, request)) {
    collected.push(page.items.filter((item) => matches(item, request.filter)));
    if (request.since === undefined) {
      if (page.next !== undefined) {
        io.err(`svc events: showing the newest ${page.items.length} events; there are more: use --since, --after or --after-cursor\n`);
      }
      break;
    }
  }
  for (const items of collected.reverse()) await write(items.reverse(), request, io);
}

/** The pages of a list, as many as there are. */
export async function* pages(feed: Feed, request: EventsRequest): AsyncGenerator<Page, void, undefined> {
  const { since, after, filter } = request;
  let cursor: string | undefined;
  do {
    const page = await feed.page({ type: filter.type, since, after: cursor === undefined ? after : undefined, cursor });
    yield page;
    cursor = page.next;
  } while (cursor !== undefined);
}

async function write(items: readonly Envelope[], request: EventsRequest, io: Io): Promise<void> {
  const lines = items.filter((item) => matches(item, request.filter)).map((item) => `${JSON.stringify(item)}\n`);
  if (lines.length > 0) await io.out(lines.join(''));
}
