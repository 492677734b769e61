import { sql, type RawBuilder } from 'kysely';
import { COUNTED, countingAll, SAMPLED } from '../../../platform/database/totals.js';
import { all, anyOf, hasTerms, type BeadFilter, type Walk } from './bead-filter.js';
import type { Order } from './bead-order.js';

/**
 * So many of the next beads are looked at before another index is asked. What that finds comes in no order and all at once: of a label
 * that 400,000 beads have, the first page took more than 30 s. Where these do not fill a page, what is asked for is rare, or old.
 */
const near = (limit: number): number => Math.max(SAMPLED, 10 * limit);
/** So many before all of the city is, where no index knows better: each page of what one in a hundred beads is would read all of it. */
const far = (limit: number): number => 8 * near(limit);
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
      filter.parts,
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
  const { held, parts, looked } = filter;
  const most = near(limit);
  const next = eachOf(
    parts,
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

/** The same by change, as far as the next beads fill the page: no more of them are read. */
export function walked({ filter, order, limit }: AskedList, { keyed, left, known }: Walk): BeadList {
  const most = known ? near(limit) : far(limit);
  const next = all([...keyed, order.after]);
  // With the order as a column, the database knows that they come in it.
  const looked = sql`
    select ${idAnd(order)}, coalesce(b.updated_at, b.created_at) as changed, ${all(left)} as fits from beads b where ${next} order by ${order.by} limit ${most}`;
  const ends = sql`(select count(*) <= ${most} from (select from beads b where ${next} limit ${most + 1}) n)`;
  const settled = sql<boolean>`(select settled from answered)`;
  return {
    first: sql`
      with page as materialized (select * from (${looked}) b where b.fits order by changed desc, id desc limit ${limit + 1}),
      answered as materialized (select (select count(*) > ${limit} from page) or ${ends} as settled)`,
    found: sql`select ${idAnd(order)} from page b`,
    count: countOf({ ...filter, held: [...filter.held, settled] }),
    settled,
    rare: sql<boolean>`false`,
  };
}

/** The same, of all that the index over terms has. */
export function ofTerms(streamId: number, { filter: { held, whose, looked, terms }, order, limit }: AskedList): BeadList {
  return {
    // By the index over terms alone, whatever else there is: the planner thinks each label as frequent as the next, and would read what others have, too.
    first: sql`
      with known as materialized (
        select ${idAnd(order)}, ${all([...held, ...anyOf(whose), ...looked])} as fits
        from beads b where (select set_config('work_mem', ${TERMS_MEMORY}, true)) is not null and ${hasTerms(streamId, terms)}
      ), matching as materialized (select ${idAnd(order)} from known b where b.fits)`,
    ...amongMatching(order, limit),
    rare: sql<boolean>`(select count(*) <= ${RARE} from known)`,
  };
}

/** The same, of all of the city, by whichever index has the least to look at: in the order of the list they would be read from all over the table. */
export function ofCity({ filter: { held, whose, looked }, order, limit }: AskedList): BeadList {
  return {
    first: sql`with matching as materialized (select ${idAnd(order)} from beads b where ${all([...held, ...anyOf(whose), ...looked])})`,
    ...amongMatching(order, limit),
    rare: sql<boolean>`false`,
  };
}

/** All are read by then, so that their number is exact, however many they are. */
const amongMatching = (order: Order, limit: number): Pick<BeadList, 'found' | 'count' | 'settled'> => ({
  found: sql`select * from matching b where ${order.after} order by ${order.by} limit ${limit + 1}`,
  count: sql`select count(*) as counted, 0 as looked from matching`,
  settled: sql<boolean>`true`,
});

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
  parts: BeadFilter['parts'],
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
