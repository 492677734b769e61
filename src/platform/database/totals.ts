import { sql, type RawBuilder } from 'kysely';

/**
 * So many rows a list counts at the most, so that what it costs does not grow with what there is: one bound for all lists. Measured in a city of 300,000 beads:
 * 0.5 ms from an index. A list that has read all it is about for another reason tells their exact number, which may be more.
 */
export const COUNTED = 5_000;
/** Of more than that so many are read where each has to be looked at: 1 ms. */
export const SAMPLED = 1_000;

/** What was found, and of how many. */
export interface Count {
  readonly counted: number;
  readonly looked: number;
}

/** As answers have it: with `total_is_estimate` there are at least so many. */
export interface Total {
  readonly total: number;
  readonly total_is_estimate?: true;
}

/**
 * SQL of one row, a `Count`, of the rows of a query. `fits` is the same in an order that an index has, with a column `fits` where not all of them are meant. One row more
 * than the bound is counted, to know that there is more.
 */
export function counting(rows: RawBuilder<unknown>, fits?: RawBuilder<unknown>): RawBuilder<unknown> {
  const all = sql`select count(*) as n from (${rows} limit ${COUNTED + 1}) c`;
  if (fits === undefined) return sql`select n as counted, n as looked from (${all}) a`;
  return sql`
    with held as materialized (${all})
    select count(*) filter (where f.fits) as counted, (select n from held) as looked
    from (${fits} limit (select case when n > ${COUNTED} then ${SAMPLED} else n end from held)) f`;
}

/**
 * The same of several queries, none of whose rows is another's: to put rows together before they are counted takes twice as long. `sample` are rows with
 * `fits` that the statement has read already: of more than the bound they are the ones that are looked at.
 */
export function countingAll(
  parts: readonly RawBuilder<unknown>[],
  fits: RawBuilder<unknown> | undefined,
  sample: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const each = parts.map((one) => sql`select count(*) as n from (${one} limit ${COUNTED + 1}) c`);
  const all = sql`select sum(n)::bigint as n from (${sql.join(each, sql` union all `)}) s`;
  if (fits === undefined) return sql`select n as counted, n as looked from (${all}) a`;
  const seen = (from: RawBuilder<unknown>): RawBuilder<unknown> => sql`(select count(*) filter (where f.fits) from (${from}) f)`;
  return sql`
    with held as materialized (${all})
    select case when n > ${COUNTED} then ${seen(sql`${sample} limit ${SAMPLED}`)} else ${seen(fits)} end as counted, n as looked from held`;
}

/** `shown` is on the page, and `whole` says that the page is all there is: then nothing has to be estimated. */
export function totalOf({ counted, looked }: Count, shown: number, whole: boolean): Total {
  if (whole) return { total: shown };
  if (looked <= COUNTED) return { total: counted };
  return { total: Math.max(Math.min(counted, COUNTED), shown), total_is_estimate: true };
}

/** The members of a body that is made as text. */
export function totalJson({ total, total_is_estimate: more }: Total): string {
  return `"total":${total}${more === true ? ',"total_is_estimate":true' : ''}`;
}
