import { sql, type Kysely } from 'kysely';

/** What requests look sessions up by. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index sessions_agent_idx on sessions (stream_id, agent_name) where state <> 'closed'`.execute(db);
  await sql`
    create index sessions_leaf_idx on sessions (stream_id, substring(alias from '[^/]+$'))
    where state <> 'closed' and alias like '%/%'`.execute(db);
  await sql`create index sessions_deleting_idx on sessions (pk) where state = 'closed' and delete_pending`.execute(db);
  await sql`
    create index session_messages_nudges_idx on session_messages (session_pk, ended_at)
    where source in ('wait', 'nudge') and status = 'delivered'`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  for (const index of ['session_messages_nudges_idx', 'sessions_deleting_idx', 'sessions_leaf_idx', 'sessions_agent_idx'])
    await sql`drop index ${sql.ref(index)}`.execute(db);
}
