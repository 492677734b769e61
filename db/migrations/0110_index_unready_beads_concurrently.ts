import { sql, type Kysely } from 'kysely';

/**
 * Unclosed beads that are not ready, by urgency. With the index of those that are, a list by urgency reads its page and no more; a bead that is
 * created ready has no entry here.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`drop index concurrently if exists beads_unready_idx`.execute(db);
  await sql`
    create index concurrently beads_unready_idx on beads (stream_id, status, coalesce(priority::integer, 2), created_at, id) include (priority, workable, open_blockers)
      where status <> 'closed' and (status <> 'open' or not workable or open_blockers <> 0)`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop index beads_unready_idx`.execute(db);
}
