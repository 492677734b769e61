import { sql, type RawBuilder } from 'kysely';

/**
 * A limit that the planner does not know, for rows in the order of an index. Where it does not know which stream is read it takes any for short, gathers all
 * of it from the parts of the log and sorts that: a page of 420,000 events took 2 s. With an unknown limit it wants a tenth of what it expects,
 * and mostly merges what the indexes of the parts have in order.
 */
export const soonest = (rows: number | RawBuilder<number>): RawBuilder<number> => sql<number>`(select ${rows}::bigint)`;
