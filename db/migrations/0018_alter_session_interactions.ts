import { sql, type Kysely } from 'kysely';

/**
 * Agents name their questions anew in each process, and some name the same question the same twice. A question keeps the
 * agent's name beside the one it is answered under, which is never used twice in a session.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table session_interactions add column runtime_id text collate "C"`.execute(db);
  await sql`
    create index session_messages_in_flight_idx on session_messages (session_pk) where status = 'in_flight'`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop index session_messages_in_flight_idx`.execute(db);
  await sql`alter table session_interactions drop column runtime_id`.execute(db);
}
