import { sql, type RawBuilder } from 'kysely';
import type { Db } from '../../../platform/database/database.js';
import { fromMicroseconds, inMicroseconds } from '../../../platform/database/microseconds.js';
import { fitted, fittingJson, type Fitted } from '../../../platform/database/page-bytes.js';
import { counting, totalOf, type Count, type Total } from '../../../platform/database/totals.js';
import { beadBytes } from './bead-bytes.js';
import { beadJson } from './bead-json.js';
import type { Place } from './page-token.js';

export interface BeadsOfType {
  readonly head: number;
  readonly total: Total;
  /** The JSON of each. */
  readonly items: readonly string[];
  /** The last one's, when the list goes on. */
  readonly next: Place | undefined;
}

/** Which of them. */
interface Choice {
  readonly streamId: number;
  readonly type: 'convoy' | 'molecule';
  /** Closed ones, too. */
  readonly all: boolean;
}

/**
 * Newest first, up to `limit` below `below`. Undefined when the city does not run.
 *
 * @param looked what else is looked for in rows `one` of `beads`; undefined for nothing else
 */
export async function beadsOfType(
  db: Db,
  { streamId, type, all }: Choice,
  looked: RawBuilder<unknown> | undefined,
  below: Place | undefined,
  limit: number,
): Promise<BeadsOfType | undefined> {
  const held = sql`one.stream_id = ${streamId} and one.issue_type = ${sql.lit(type)} and ${all ? sql`true` : sql`one.status <> 'closed'`}`;
  const after = below === undefined ? sql`` : sql`and (one.created_at, one.id) < (${fromMicroseconds(below.createdAt)}, ${below.id})`;
  const found = sql`
    select one.id, one.created_at, ${beadBytes('one')} as bytes from beads one where ${held} and ${looked ?? sql`true`} ${after}
    order by one.created_at desc, one.id desc limit ${limit + 1}`;
  const json = sql`select ${beadJson('one')}::text as json from beads one where one.stream_id = ${streamId} and one.id = k.id`;
  const counted = counting(
    sql`select from beads one where ${held}`,
    looked === undefined ? undefined : sql`select ${looked} as fits from beads one where ${held} order by one.created_at desc, one.id desc`,
  );
  const { rows } = await sql<Fitted & Count & { head: number; id: string | null; created: string; json: string }>`
    select s.head, t.counted, t.looked, p.id, p.json, p.fits, ${inMicroseconds(sql`p.created_at`)} as created
    from cities y join event_streams s on s.id = y.stream_id
    cross join lateral (${counted}) t
    left join (${fittingJson(found, sql`created_at desc, id desc`, limit, json)}) p on true
    where y.stream_id = ${streamId} and y.running order by p.nth`.execute(db);
  const [first] = rows;
  if (first === undefined) return undefined;
  const page = fitted(first.id === null ? [] : rows);
  const last = page.rows.at(-1);
  return {
    head: first.head,
    total: totalOf(first, page.rows.length, below === undefined && !page.more),
    items: page.rows.map((row) => row.json),
    next: page.more && last !== undefined ? { id: last.id!, createdAt: last.created } : undefined,
  };
}
