import { sql, type Kysely } from 'kysely';

/**
 * Tool calls of which nobody has said how they ended, for the end of their process: any number of entries may have come after one. What
 * streams is text, and not in it; a write of a tool call costs 3 % more.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`drop index concurrently if exists session_entries_tools_idx`.execute(db);
  await sql`
    create index concurrently session_entries_tools_idx on session_entries (session_pk, generation)
    where status = 'partial' and kind = 'tool'`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop index session_entries_tools_idx`.execute(db);
}
