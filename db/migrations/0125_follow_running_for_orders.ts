import { sql, type Kysely } from 'kysely';

/**
 * Whether a city runs, as its orders were followed last: who follows it learns by that when a city starts, stops, or is registered no more. Orders of cities that do
 * not run were looked at, and written, every 15 s for ever.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table order_cities add column running boolean not null default false`.execute(db);
  await sql`update order_cities o set running = c.running from cities c where c.stream_id = o.stream_id and c.running`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`alter table order_cities drop column running`.execute(db);
}
