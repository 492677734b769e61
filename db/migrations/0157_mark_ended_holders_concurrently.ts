import { sql, type Kysely } from 'kysely';

/**
 * Ended sessions that held more than their end could give back: the rest is found from them. Every look at a city asked for each of those to whom its beads
 * are assigned whether that is one of them. The release before marks none; it gives nothing back either but what its sessions had begun.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table sessions add column if not exists holds_more boolean not null default false`.execute(db);
  await sql`drop index concurrently if exists sessions_holding_idx`.execute(db);
  await sql`create index concurrently sessions_holding_idx on sessions (stream_id, pk) where holds_more`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`alter table sessions drop column holds_more`.execute(db);
}
