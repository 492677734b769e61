import { sql, type Kysely } from 'kysely';

/**
 * What waits for people in one city, the oldest first. By the indexes over all cities whoever may see one read what waits in all others: 0.5 s, for nothing,
 * where another city has 200,000 such beads.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`drop index concurrently if exists beads_human_of_city_idx`.execute(db);
  await sql`
    create index concurrently beads_human_of_city_idx on beads (stream_id, created_at, id)
    where assignee = 'human' and status <> 'closed'`.execute(db);
  await sql`drop index concurrently if exists messages_unread_of_city_idx`.execute(db);
  await sql`
    create index concurrently messages_unread_of_city_idx on messages (stream_id, created_at, id)
    where principal = 'human' and archived_at is null and read_at is null`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop index messages_unread_of_city_idx`.execute(db);
  await sql`drop index beads_human_of_city_idx`.execute(db);
}
