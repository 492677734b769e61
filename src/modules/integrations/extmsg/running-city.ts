import { sql, type RawBuilder } from 'kysely';

/** A city that is stopped, or is registered no more, sends nothing. One look into the index, and never at all cities. */
export const runs = (stream: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`exists (select from cities y where y.stream_id = ${stream} and y.running offset 0)`;
