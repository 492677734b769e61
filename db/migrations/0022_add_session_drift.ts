import { sql, type Kysely } from 'kysely';

/**
 * What a session's process was started with, beside the hash of the whole: a hash for each part, so that a change can be
 * named; the options, since those that the live agent took later make it no other process; and the hash of a later
 * configuration with which a person lets this process go on.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table sessions add launch_parts jsonb, add launch_options jsonb, add accepted_hash text`.execute(db);
  // Whose process may run with an older configuration.
  await sql`create index sessions_live_idx on sessions (stream_id, created_at desc, pk desc) where live`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop index sessions_live_idx`.execute(db);
  await sql`alter table sessions drop accepted_hash, drop launch_options, drop launch_parts`.execute(db);
}
