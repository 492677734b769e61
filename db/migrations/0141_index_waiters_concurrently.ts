import { sql, type Kysely } from 'kysely';

/**
 * Waits that are not over, by the session that they were registered for: its end ends them, and each look at the pools asks for those of
 * sessions that have ended. By the index over terms that read all waits of the city (30 ms with 30,000 of them).
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`drop index concurrently if exists beads_waiters_idx`.execute(db);
  // A name of that length is nobody's, and what is longer than 2,700 bytes cannot be in an index.
  await sql`
    create index concurrently beads_waiters_idx on beads (stream_id, ((metadata ->> 'registered_session') collate "C"))
    where issue_type = 'gate' and status <> 'closed' and labels @> '{gc:wait}' and metadata ->> 'state' in ('pending', 'ready')
      and length(metadata ->> 'registered_session') <= 255`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop index beads_waiters_idx`.execute(db);
}
