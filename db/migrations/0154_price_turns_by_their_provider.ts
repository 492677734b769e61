import { sql, type Kysely } from 'kysely';

/**
 * With which provider, and which preset behind it, a turn was: its session may have another one later, which has other prices. Null is that of the
 * session, as for what a worker of the release before writes.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table session_turns add column provider text, add column preset text`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`alter table session_turns drop column provider, drop column preset`.execute(db);
}
