import { sql, type RawBuilder } from 'kysely';

/**
 * A limit that the planner cannot see, for rows in the order of an index. When it does not know which stream is read, it expects few rows: it reads all of the
 * stream from all partitions and sorts that, and a page of a city with 420,000 events took 2 s. With an unknown limit it plans for a tenth of the rows, and mostly
 * merges the indexes of the partitions in order.
 */
export const soonest = (rows: number | RawBuilder<number>): RawBuilder<number> => sql<number>`(select ${rows}::bigint)`;
