import { sql, type Kysely } from 'kysely';

/**
 * Ended sessions that held more than their end could give back: the rest is found from them. Every look at a city asked for each of those to whom its beads
 * are assigned whether that is one of them. The release before marks none; it gives nothing back either but what its sessions had begun.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table sessions add column holds_more boolean not null default false`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`alter table sessions drop column holds_more`.execute(db);
}
