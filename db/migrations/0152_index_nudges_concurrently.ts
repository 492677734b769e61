import { sql, type Kysely } from 'kysely';

/**
 * The last nudge of each session, which each look at the pools of a city asks for, and the last note of a wait. By the index over all messages one
 * that was never nudged was read to its first message (a look takes four times as long with 50,000). What people and agents write is in neither.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`drop index concurrently if exists session_messages_nudged_idx`.execute(db);
  await sql`create index concurrently session_messages_nudged_idx on session_messages (session_pk, pk desc) where source = 'nudge'`.execute(
    db,
  );
  await sql`drop index concurrently if exists session_messages_waits_idx`.execute(db);
  await sql`
    create index concurrently session_messages_waits_idx on session_messages (session_pk, reference, pk desc) where source = 'wait'`.execute(
    db,
  );
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop index session_messages_waits_idx`.execute(db);
  await sql`drop index session_messages_nudged_idx`.execute(db);
}
