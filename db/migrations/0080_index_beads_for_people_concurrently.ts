import { sql, type Kysely } from 'kysely';

/** What is assigned to people in all cities, the oldest first. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`drop index concurrently if exists beads_human_idx`.execute(db);
  await sql`
    create index concurrently beads_human_idx on beads (created_at, stream_id, id) where assignee = 'human' and status <> 'closed'`.execute(
    db,
  );
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop index beads_human_idx`.execute(db);
}
