import type { Command } from 'commander';
import type { CityContext } from './command.js';
import { InterruptedError } from './errors.js';
import { nameOfItem } from './item-name.js';
import { pagesOf, type ListPage } from '../client/pages.js';
import type { SomeEvent } from '../client/events.js';
import { sleep } from '../client/sleep.js';
import { failing, telling } from './api.js';
import { pausesOf, untilAnswered } from './pauses.js';
import { plain } from './table.js';
import { numberOf } from './values.js';

/** The flags of every command that lists. */
export interface ListFlags {
  readonly limit: string;
  readonly json?: boolean;
  readonly watch?: boolean;
}

export interface Listing<T> {
  /** What they are called: `beads`, `convoys`. */
  readonly plural: string;
  readonly page: (query: { limit: number; cursor?: string }) => Promise<ListPage<T>>;
  readonly show: (items: readonly T[]) => string;
  /** Whether that is a text for each, and no table: it has no head that is left out of what is shown later. */
  readonly texts?: boolean;
  /** Said on stderr when there is nothing. */
  readonly empty: string;
  /** The most that the operation gives in one page; 500 unless told. */
  readonly pageSize?: number;
  /** What was read, kept by the events that tell it; without one it is read again after each. */
  readonly followed?: Followed<T>;
  /** What no event tells of is read again so often, in milliseconds, where it is watched. */
  readonly everyMs?: number;
}

export interface Followed<T> {
  /** What an event changes: what `items` has, or what only another read tells; undefined for what the list does not show. */
  take(event: SomeEvent<'city' | 'supervisor'>): 'shown' | 'read' | undefined;
  items(): readonly T[];
}

const PAGE_SIZE = 500;

/** What is said where nothing matches: how one is made, and with which flag closed ones are listed, unless they were. */
export function nothing(plural: string, make: string, closed: string | undefined): string {
  return closed === undefined
    ? `no ${plural} match; make one with \`${make}\``
    : `no open ${plural} match; make one with \`${make}\`, or see closed ones with ${closed}`;
}

export function withLimit(command: Command, limit = '50'): Command {
  return command.option('--limit <n>', 'at most this many; 0 for all', limit).option('--json', 'print one JSON line for each');
}

/** How often what no event tells of is read again. */
export const EVERY_MS = 5_000;

/** `--watch` of such a list. */
export function withRereading(command: Command): Command {
  return command.option('-w, --watch', `go on with what changes, until Ctrl-C: it is read again every ${EVERY_MS / 1_000} s`);
}

/** The flags of a command that lists what always comes whole. */
export interface AllFlags {
  readonly json?: boolean;
  readonly watch?: boolean;
}

/** Lists all there is: its pages end by bytes alone. */
export function listAll<T>(
  context: CityContext<AllFlags>,
  { page, ...listing }: Omit<Listing<T>, 'plural' | 'page'> & { page: (query: { cursor?: string }) => Promise<ListPage<T>> },
): Promise<void> {
  const next = ({ cursor }: { cursor?: string }): Promise<ListPage<T>> => page(cursor === undefined ? {} : { cursor });
  return list({ ...context, flags: { ...context.flags, limit: '0' } }, { plural: 'items', ...listing, page: next });
}

/** What always comes whole, up to a limit: that something is left out is told as it is of pages. Asked for with a `pageSize` of Infinity. */
export const firstOf = <T>(all: readonly T[], limit: number): ListPage<T> =>
  all.length <= limit ? { items: all } : { items: all.slice(0, limit), total: all.length, next_cursor: 'more' };

/** Reads as many pages as the limit asks for; JSON Lines are written page by page, a table at the end. */
export async function list<T>(context: CityContext<ListFlags>, listing: Listing<T>): Promise<void> {
  const { io, flags, path } = context;
  if (flags.watch === true) return watchList(context, listing);
  const limit = numberOf('--limit', flags.limit) || Infinity;
  const rows: T[] = [];
  let count = 0;
  let of: string | undefined;
  let cursor: string | undefined;
  do {
    const page = await listing.page({
      limit: Math.min(limit - count, listing.pageSize ?? PAGE_SIZE),
      ...(cursor === undefined ? {} : { cursor }),
    });
    const items = page.items ?? [];
    count += items.length;
    of ??= ofTotal(page);
    cursor = page.next_cursor;
    if (flags.json === true) await io.out(items.map((item) => `${JSON.stringify(item)}\n`).join(''));
    else rows.push(...items);
  } while (cursor !== undefined && count < limit);
  if (rows.length > 0) await io.out(listing.show(rows));
  if (count === 0 && flags.json !== true) io.err(`${listing.empty}\n`);
  if (cursor !== undefined) {
    io.err(`${path}: ${count}${of ?? ''} ${listing.plural} shown; --limit 0 shows all\n`);
  }
}

/** How many there are of what is shown. A total that ends with a page before the list does counts that page alone. */
function ofTotal({ items, total, total_is_estimate, next_cursor }: ListPage<unknown>): string {
  if (total === undefined || (next_cursor !== undefined && total <= (items?.length ?? 0))) return '';
  return ` of ${total_is_estimate === true ? 'at least ' : ''}${total}`;
}

/** What happens together is shown together. */
export const TOGETHER_MS = 150;
const CLEAR = '\u001b[H\u001b[2J';

/**
 * Lists, then again whatever changes, until Ctrl-C: a terminal shows all of it anew, elsewhere the items follow that have changed or
 * are new. The streams tell that something has, and where they can, what; where they begin is known before the first look, so nothing is
 * missed. What no event tells of is read again and again.
 */
async function watchList<T>(context: CityContext<ListFlags>, listing: Listing<T>): Promise<void> {
  const { io, api, city, flags, path } = context;
  const { signal } = io;
  const scope = city === '' ? {} : { city };
  const after = listing.everyMs === undefined ? await api.client.head(scope).catch(failing(api)) : undefined;
  let known: Map<string, string> | undefined;
  const { followed } = listing;
  const limit = numberOf('--limit', flags.limit) || Infinity;
  let stale = true;
  const unread = (error: unknown): never => {
    stale = true;
    throw error;
  };
  const look = async (): Promise<void> => {
    const reads = stale || followed === undefined;
    stale = false;
    const read = reads ? await itemsUpTo(listing, limit).catch(unread) : [];
    const items = followed?.items().slice(0, limit) ?? read;
    const before = known;
    known = new Map(items.map((item, at) => [nameOfItem(item)[0] ?? String(at), JSON.stringify(item)]));
    const texts = new Set(before?.values());
    const changed = before === undefined ? items : items.filter((item) => !texts.has(JSON.stringify(item)));
    const gone = [...(before?.keys() ?? [])].filter((name) => !known!.has(name));
    if (flags.json === true) await io.out(changed.map((item) => `${JSON.stringify(item)}\n`).join(''));
    else if (io.width !== undefined && (before === undefined || changed.length > 0 || gone.length > 0))
      await io.out(CLEAR + listing.show(items));
    else if (changed.length > 0) await io.out(before === undefined ? listing.show(items) : rowsOf(listing, items, changed));
    if (io.width === undefined || flags.json === true) for (const name of gone) io.err(`${plain(name)} is not listed any more\n`);
    if (before === undefined && items.length === 0 && flags.json !== true) io.err(`${listing.empty}\n`);
  };
  await look();
  if (listing.everyMs !== undefined) {
    for (;;) {
      await sleep(listing.everyMs, signal);
      if (signal.aborted) throw new InterruptedError();
      await untilAnswered(io, path, look, Math.min(listing.everyMs, 1_000));
    }
  }
  let dirty = false;
  let looking: Promise<void> | undefined;
  const failed = new AbortController();
  const lookAgain = async (): Promise<void> => {
    for (dirty = true; dirty && !signal.aborted;) {
      await sleep(TOGETHER_MS, signal);
      dirty = false;
      if (!signal.aborted) await untilAnswered(io, path, look);
    }
    looking = undefined;
  };
  const until = AbortSignal.any([signal, failed.signal]);
  for await (const event of telling(api, api.client.events({ ...scope, after, signal: until, ...pausesOf(io, path) }))) {
    const effect = followed === undefined ? 'read' : followed.take(event);
    if (effect === undefined) continue;
    stale ||= effect === 'read';
    dirty = true;
    looking ??= lookAgain().catch((error: unknown) => failed.abort(error));
  }
  await looking;
  failed.signal.throwIfAborted();
  throw new InterruptedError();
}

async function itemsUpTo<T>(listing: Listing<T>, limit: number): Promise<T[]> {
  const items: T[] = [];
  const page = (next: { cursor?: string }): Promise<ListPage<T>> =>
    listing.page({ limit: Math.min(limit - items.length, listing.pageSize ?? PAGE_SIZE), ...next });
  for await (const found of pagesOf(page)) {
    items.push(...(found.items ?? []));
    if (items.length >= limit) break;
  }
  return items;
}

/** The rows of what has changed, in the columns of all that is listed: a table leaves out those that are empty in all of its rows. */
function rowsOf<T>({ show, texts }: Listing<T>, items: readonly T[], changed: readonly T[]): string {
  if (texts === true) return `\n${show(changed)}`;
  const rows = withoutHeader(show(items)).split('\n').slice(0, -1);
  if (rows.length !== items.length) return withoutHeader(show(changed));
  const those = new Set(changed);
  return items.flatMap((item, at) => (those.has(item) ? [`${rows[at]}\n`] : [])).join('');
}

const withoutHeader = (text: string): string => text.slice(text.indexOf('\n') + 1);
