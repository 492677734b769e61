import { sql, type Kysely } from 'kysely';

/**
 * Publications that connected clients come for: `for_clients_of` has the adapter. Each look of a worker went through all conversations with something
 * that waits, and left out those of such adapters. The release before marks none; a worker of this one marks what it has left.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table extmsg_deliveries add column for_clients_of bigint`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`alter table extmsg_deliveries drop column for_clients_of`.execute(db);
}
