import { sql, type RawBuilder } from 'kysely';
import { COUNTED, countingAll, SAMPLED } from '../../../platform/database/totals.js';
import { all, hasTerms, type BeadFilter } from './bead-filter.js';
import type { Order } from './bead-order.js';

/**
 * So many of the next beads are looked at for a label before the index over terms is asked. What that finds comes in no order and all at once: of a label
 * that 400,000 beads have, the first page took more than 30 s. Where these do not fill a page, the label is rare, or old.
 */
const near = (limit: number): number => Math.max(SAMPLED, 10 * limit);
/** For a label that is old and frequent: with the usual 4 MB 5.6 s for 300,000 beads, as the index then knows of pages only, and 0.4 s with these. */
const TERMS_MEMORY = '64MB';
/** To read so many of the index takes as long as to look at the next ones first. */
const RARE = 2 * SAMPLED;

/** Parts of the statement that reads a page of beads. */
export interface BeadList {
  /** Before its `select`. */
  readonly first: RawBuilder<unknown>;
  /** The beads of the page, and one more, with all that orders name. */
  readonly found: RawBuilder<unknown>;
  /** A `Count` of all. */
  readonly count: RawBuilder<unknown>;
  /** Whether `found` and `count` are what they say; otherwise the index has to be asked. */
  readonly settled: RawBuilder<boolean>;
  /** The index over terms knows so few that it is as well asked at once. */
  readonly rare: RawBuilder<boolean>;
}

export interface AskedList {
  readonly filter: BeadFilter;
  readonly order: Order;
  readonly limit: number;
}

const idAnd = ({ columns }: Order): RawBuilder<unknown> => sql`b.id, ${columns}`;

/** Reads the list in its order, in an index where one has that. */
export function inOrder({ filter, order, limit }: AskedList): BeadList {
  const { held, looked } = filter;
  return {
    first: sql``,
    found: eachOf(
      filter,
      (part) => sql`select ${idAnd(order)} from beads b where ${all([...held, ...part, ...looked, order.after])}`,
      order,
      limit + 1,
    ),
    count: countOf(filter),
    settled: sql<boolean>`true`,
    rare: sql<boolean>`false`,
  };
}

/** The same of what the index over terms knows, as far as the next beads have it. */
export function nearby({ filter, order, limit }: AskedList): BeadList {
  const { held, looked } = filter;
  const most = near(limit);
  const next = eachOf(
    filter,
    (part) => sql`select ${idAnd(order)}, ${all(looked)} as fits from beads b where ${all([...held, ...part, order.after])}`,
    order,
    most + 1,
  );
  const settled = sql<boolean>`(select count(*) <= ${most} or count(*) filter (where fits) > ${limit} from near)`;
  return {
    first: sql`with near as materialized (${next})`,
    found: sql`select ${idAnd(order)} from near b where b.fits order by ${order.by} limit ${limit + 1}`,
    // The first page has read the sample.
    count: countOf({ ...filter, held: [...held, settled] }, order.begins ? sql`select fits from near` : undefined),
    settled,
    rare: sql<boolean>`false`,
  };
}

/** The same, of all that the index over terms has. */
export function ofTerms(streamId: number, { filter: { held, whose, looked, terms }, order, limit }: AskedList): BeadList {
  const anyone = whose.length === 0 ? [] : [sql`(${sql.join(whose, sql` or `)})`];
  return {
    // By the index over terms alone, whatever else there is: the planner thinks each label as frequent as the next, and would read what others have, too.
    first: sql`
      with known as materialized (
        select ${idAnd(order)}, ${all([...held, ...anyone, ...looked])} as fits
        from beads b where (select set_config('work_mem', ${TERMS_MEMORY}, true)) is not null and ${hasTerms(streamId, terms)}
      ), matching as materialized (select ${idAnd(order)} from known b where b.fits)`,
    found: sql`select * from matching b where ${order.after} order by ${order.by} limit ${limit + 1}`,
    count: sql`select count(*) as counted, 0 as looked from matching`,
    settled: sql<boolean>`true`,
    rare: sql<boolean>`(select count(*) <= ${RARE} from known)`,
  };
}

/** `sample` are the first of them, where the statement has read those. */
function countOf({ held, looked, walked, whose }: BeadFilter, sample?: RawBuilder<unknown>): RawBuilder<unknown> {
  const rows = (part: readonly RawBuilder<unknown>[]): RawBuilder<unknown> => sql`select from beads b where ${all([...held, ...part])}`;
  const each = (part: readonly RawBuilder<unknown>[]): RawBuilder<unknown> =>
    sql`select ${all(looked)} as fits from beads b where ${all([...held, ...part])} order by ${walked} limit ${COUNTED}`;
  const parts = whose.length === 0 ? [rows([])] : whose.map((one) => rows([one]));
  const fits = sql`select b.fits from (${whose.length === 0 ? each([]) : sql`select * from (${union(whose, each)}) b`}) b`;
  return countingAll(parts, looked.length === 0 ? undefined : fits, sample ?? fits);
}

function eachOf(
  { parts }: BeadFilter,
  select: (part: readonly RawBuilder<unknown>[]) => RawBuilder<unknown>,
  { by }: Order,
  limit: number,
): RawBuilder<unknown> {
  const ordered = (rows: RawBuilder<unknown>): RawBuilder<unknown> => sql`${rows} order by ${by} limit ${limit}`;
  if (parts.length === 0) return ordered(select([]));
  return ordered(sql`select * from (${union(parts, (part) => ordered(select(part)))}) b`);
}

const union = (
  parts: readonly RawBuilder<unknown>[],
  rows: (part: readonly RawBuilder<unknown>[]) => RawBuilder<unknown>,
): RawBuilder<unknown> =>
  sql.join(
    parts.map((one) => sql`(${rows([one])})`),
    sql` union all `,
  );
