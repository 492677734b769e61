import { sql, type RawBuilder } from 'kysely';

/**
 * Instants as the places of lists carry them: whole microseconds since 1970 in decimal, as exact as Postgres keeps them. A `Date` would
 * cut them to milliseconds, and a list that goes on behind one would skip rows or tell them twice.
 */

/** The text of a place from `instant`, an expression of type timestamptz. */
export const inMicroseconds = (instant: RawBuilder<unknown>): RawBuilder<string> =>
  sql<string>`(extract(epoch from ${instant}) * 1000000)::bigint::text`;

/** The instant of such a text; places that are told as numbers are as exact until the year 2255. */
export const fromMicroseconds = (place: string | number): RawBuilder<Date> =>
  sql<Date>`(timestamptz 'epoch' + ${place}::bigint * interval '1 microsecond')`;
