import { sql, type Kysely } from 'kysely';

/** Those of one conversation, the ones that have ended as well: a conversation that is forgotten is looked for in all of them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`drop index concurrently if exists extmsg_memberships_conversation_idx`.execute(db);
  await sql`create index concurrently extmsg_memberships_conversation_idx on extmsg_memberships (conversation_pk)`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop index extmsg_memberships_conversation_idx`.execute(db);
}
