import { sql, type Kysely } from 'kysely';

/** Lists of deliveries of some states, or of one direction: by the index of all of a city those of which there are few were read to its first (150 ms of 200,000). */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`drop index concurrently if exists extmsg_deliveries_listed_idx`.execute(db);
  await sql`create index concurrently extmsg_deliveries_listed_idx on extmsg_deliveries (stream_id, direction, state, pk)`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop index extmsg_deliveries_listed_idx`.execute(db);
}
