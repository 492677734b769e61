import { sql, type Kysely } from 'kysely';

/** It was there for a foreign key that is gone since 0113. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`drop index concurrently if exists extmsg_deliveries_conversation_idx`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`create index extmsg_deliveries_conversation_idx on extmsg_deliveries (conversation_pk, pk)`.execute(db);
}
