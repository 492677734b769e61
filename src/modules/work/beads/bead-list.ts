import { sql, type RawBuilder } from 'kysely';
import { COUNTED, counting, SAMPLED } from '../../../platform/database/totals.js';
import { all, hasTerms, type BeadFilter } from './bead-filter.js';
import type { Order } from './bead-order.js';

/**
 * So many of the next beads are looked at for a label before the index over terms is asked. What that finds comes in no order and all at once: of a label
 * that 400,000 beads have, the first page took more than 30 s. Where these do not fill a page, the label is rare, or old.
 */
const near = (limit: number): number => Math.max(SAMPLED, 10 * limit);
/** For a label that is old and frequent: with the usual 4 MB 5.6 s for 300,000 beads, as the index then knows of pages only, and 0.4 s with these. */
const TERMS_MEMORY = '64MB';

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
      (whose) => sql`select ${idAnd(order)} from beads b where ${all([...held, ...whose, ...looked, order.after])}`,
      order,
      limit + 1,
    ),
    count: countOf(filter),
    settled: sql<boolean>`true`,
  };
}

/** The same of what the index over terms knows, as far as the next beads have it. */
export function nearby({ filter, order, limit }: AskedList): BeadList {
  const { held, looked } = filter;
  const most = near(limit);
  const next = eachOf(
    filter,
    (whose) => sql`select ${idAnd(order)}, ${all(looked)} as fits from beads b where ${all([...held, ...whose, order.after])}`,
    order,
    most + 1,
  );
  const settled = sql<boolean>`(select count(*) <= ${most} or count(*) filter (where fits) > ${limit} from near)`;
  return {
    first: sql`with near as materialized (${next})`,
    found: sql`select ${idAnd(order)} from near b where b.fits order by ${order.by} limit ${limit + 1}`,
    count: countOf({ ...filter, held: [...held, settled] }),
    settled,
  };
}

/** The same, of all that the index over terms has. */
export function ofTerms({ filter: { held, whose, looked, terms }, order, limit }: AskedList): BeadList {
  const anyone = whose.length === 0 ? [] : [sql`(${sql.join(whose, sql` or `)})`];
  // The same version of the row: both are read in one snapshot.
  const known = sql`b.ctid = any(array(select ctid from known))`;
  return {
    // Apart from all else: the planner thinks each label as frequent as the next, and would read what others have, too.
    first: sql`
      with known as materialized (
        select b.ctid from beads b where (select set_config('work_mem', ${TERMS_MEMORY}, true)) is not null and ${hasTerms(terms)}
      ), matching as materialized (select ${idAnd(order)} from beads b where ${all([...held, known, ...anyone, ...looked])})`,
    found: sql`select * from matching b where ${order.after} order by ${order.by} limit ${limit + 1}`,
    count: sql`select count(*) as counted, 0 as looked from matching`,
    settled: sql<boolean>`true`,
  };
}

function countOf(filter: BeadFilter): RawBuilder<unknown> {
  const { held, looked, walked, whose } = filter;
  const of = (select: (whose: readonly RawBuilder<unknown>[]) => RawBuilder<unknown>): RawBuilder<unknown> =>
    whose.length === 0 ? select([]) : sql`select * from (${union(filter, select)}) b`;
  const rows = of((whose) => sql`select true as fits from beads b where ${all([...held, ...whose])}`);
  if (looked.length === 0) return counting(rows);
  const fits = of(
    (whose) => sql`select ${all(looked)} as fits from beads b where ${all([...held, ...whose])} order by ${walked} limit ${COUNTED}`,
  );
  return counting(rows, sql`select b.fits from (${fits}) b`);
}

function eachOf(
  filter: BeadFilter,
  select: (whose: readonly RawBuilder<unknown>[]) => RawBuilder<unknown>,
  { by }: Order,
  limit: number,
): RawBuilder<unknown> {
  const ordered = (rows: RawBuilder<unknown>): RawBuilder<unknown> => sql`${rows} order by ${by} limit ${limit}`;
  if (filter.whose.length === 0) return ordered(select([]));
  return ordered(sql`select * from (${union(filter, (whose) => ordered(select(whose)))}) b`);
}

const union = ({ whose }: BeadFilter, rows: (whose: readonly RawBuilder<unknown>[]) => RawBuilder<unknown>): RawBuilder<unknown> =>
  sql.join(
    whose.map((one) => sql`(${rows([one])})`),
    sql` union all `,
  );
