import { sql, type Kysely } from 'kysely';

/**
 * Events of a transaction that it has written down before it locks their streams, and appends behind the lock: to read them from text takes half
 * of what it takes to append them. Each row goes in the transaction that has made it, so nobody ever sees one, and a crash has nothing to lose.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create unlogged table event_drafts (id text collate "C" primary key, events jsonb not null)`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop table event_drafts`.execute(db);
}
