import { sql, type Kysely } from 'kysely';

/** What people have not read in all cities, the oldest first. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`drop index concurrently if exists messages_unread_idx`.execute(db);
  await sql`
    create index concurrently messages_unread_idx on messages (created_at, stream_id, id)
      where principal = 'human' and archived_at is null and read_at is null`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop index messages_unread_idx`.execute(db);
}
