import { sql, type RawBuilder } from 'kysely';

/** A page of a list ends early once its items are this long together, whatever its `limit`; its first item is always on it. */
export const PAGE_BYTES = 2 << 20;

/** The most that an answer without pages holds. */
export const ANSWER_BYTES = 16 << 20;

/** What is left of a page. `first` says that nothing is on it yet. */
export interface Room {
  readonly rows: number;
  readonly bytes: number;
  readonly first: boolean;
}

/** As values, or as SQL where a statement has a text of its own. */
type InSql<T> = { readonly [K in keyof T]: T[K] | RawBuilder<T[K]> };

/** A row that has been looked at. The first that does not fit comes along, to tell that there is more. */
export interface Fitted {
  readonly fits: boolean;
}

export const wholePage = (rows: number, bytes = PAGE_BYTES): Room => ({ rows, bytes, first: true });

/** What is left of it with these on the page, too. */
export function roomAfter(room: Room, items: readonly { readonly bytes: number }[]): Room {
  const bytes = items.reduce((sum, item) => sum + item.bytes, 0);
  return { rows: room.rows - items.length, bytes: Math.max(0, room.bytes - bytes), first: room.first && items.length === 0 };
}

/**
 * SQL that says of rows whether they fit into a room: those that do are the first ones. `rows` is a query of one row more than the
 * room has, each with its `bytes`; a long value must not be read to know them. `order` names its columns.
 */
export function marked(rows: RawBuilder<unknown>, order: RawBuilder<unknown>, room: InSql<Room>, fits = 'fits'): RawBuilder<unknown> {
  return sql`
    select f.*, row_number() over w as nth, sum(f.bytes) over w - f.bytes as bytes_before,
      row_number() over w <= ${room.rows} and (sum(f.bytes) over w <= ${room.bytes} or (row_number() over w = 1 and ${room.first})) as ${sql.ref(fits)}
    from (${rows}) f window w as (order by ${order} rows unbounded preceding)`;
}

/** SQL of those that fit, and of the first that does not. */
export function fitting(rows: RawBuilder<unknown>, order: RawBuilder<unknown>, room: InSql<Room>, fits = 'fits'): RawBuilder<unknown> {
  return sql`select f.* from (${marked(rows, order, room, fits)}) f where f.bytes_before <= ${room.bytes} or f.nth = 2`;
}

/** The rows of an answer to `fitting` that fit, and whether there are more. */
export function fitted<R extends Fitted>(rows: readonly R[]): { readonly rows: readonly R[]; readonly more: boolean } {
  const held = rows.filter((row) => row.fits);
  return { rows: held, more: held.length < rows.length };
}

/**
 * SQL of a page of rows whose JSON is made by Postgres: the rows of `fitting`, of which `bytes` may be a guess that is too small
 * (control characters are six times as long in JSON), with the JSON of those that fit, as long as that fits too. `json` is a
 * query of one column `json` over a row `k`, made once a row: hence the `offset`. It is an answer as those of `fitting` are.
 */
export function fittingJson(
  rows: RawBuilder<unknown>,
  order: RawBuilder<unknown>,
  limit: number,
  json: RawBuilder<unknown>,
): RawBuilder<unknown> {
  return sql`
    select k.*, j.json, k.guessed and (k.nth = 1 or sum(octet_length(j.json)) over (order by k.nth rows unbounded preceding) <= ${PAGE_BYTES}) as fits
    from (${fitting(rows, order, wholePage(limit), 'guessed')}) k
    left join lateral (${json} offset 0) j on k.guessed`;
}

/** How many of these items, made in this process, one page holds; one at least. */
export function heldItems(items: readonly unknown[]): number {
  let bytes = 0;
  for (const [n, item] of items.entries()) {
    bytes += Buffer.byteLength(JSON.stringify(item));
    if (n > 0 && bytes > PAGE_BYTES) return n;
  }
  return items.length;
}
