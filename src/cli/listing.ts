import type { Command } from 'commander';
import type { CityContext } from './command.js';
import type { ListPage } from '../client/pages.js';
import { numberOf } from './values.js';

/** The flags of every command that lists. */
export interface ListFlags {
  readonly limit: string;
  readonly json?: boolean;
}

export interface Listing<T> {
  /** What they are called: `beads`, `convoys`. */
  readonly plural: string;
  readonly page: (query: { limit: number; cursor?: string }) => Promise<ListPage<T>>;
  readonly show: (items: readonly T[]) => string;
  /** Said on stderr when there is nothing. */
  readonly empty: string;
  /** The most that the operation gives in one page; 500 unless told. */
  readonly pageSize?: number;
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

/** The flags of a command that lists what always comes whole. */
export interface AllFlags {
  readonly json?: boolean;
}

/** Lists all there is: its pages end by bytes alone. */
export function listAll<T>(
  context: CityContext<AllFlags>,
  { page, ...listing }: Omit<Listing<T>, 'plural' | 'page'> & { page: (query: { cursor?: string }) => Promise<ListPage<T>> },
): Promise<void> {
  const next = ({ cursor }: { cursor?: string }): Promise<ListPage<T>> => page(cursor === undefined ? {} : { cursor });
  return list({ ...context, flags: { ...context.flags, limit: '0' } }, { plural: 'items', ...listing, page: next });
}

/** Reads as many pages as the limit asks for; JSON Lines are written page by page, a table at the end. */
export async function list<T>(context: CityContext<ListFlags>, listing: Listing<T>): Promise<void> {
  const { io, flags, path } = context;
  const limit = numberOf('--limit', flags.limit) || Infinity;
  const rows: T[] = [];
  let count = 0;
  let total: number | undefined;
  let cursor: string | undefined;
  do {
    const page = await listing.page({
      limit: Math.min(limit - count, listing.pageSize ?? PAGE_SIZE),
      ...(cursor === undefined ? {} : { cursor }),
    });
    const items = page.items ?? [];
    count += items.length;
    total ??= page.total;
    cursor = page.next_cursor;
    if (flags.json === true) await io.out(items.map((item) => `${JSON.stringify(item)}\n`).join(''));
    else rows.push(...items);
  } while (cursor !== undefined && count < limit);
  if (rows.length > 0) await io.out(listing.show(rows));
  if (count === 0 && flags.json !== true) io.err(`${listing.empty}\n`);
  if (cursor !== undefined) {
    io.err(`${path}: ${count}${total === undefined ? '' : ` of ${total}`} ${listing.plural} shown; --limit 0 shows all\n`);
  }
}
