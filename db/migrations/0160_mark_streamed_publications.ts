import { sql, type Kysely } from 'kysely';

/** Indexes are built while others write. The column is added as it is anywhere: without a value nobody waits for long. */
export const alone = true;

const WAITS = sql`state = 'pending' and direction = 'outbound'`;

/**
 * Publications that connected clients come for: `for_clients_of` has the adapter. Each look of a worker went through all conversations with something
 * that waits, and left out those of such adapters: 160 ms a look with 10,000 of them. What is offered to a client, and how much waits for it, was read among
 * all that waits in all cities. The release before marks none, and finds all of them by the index that it has; a worker of this one marks what it has left.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table extmsg_deliveries add column if not exists for_clients_of bigint`.execute(db);
  await sql`drop index concurrently if exists extmsg_deliveries_workers_idx`.execute(db);
  await sql`
    create index concurrently extmsg_deliveries_workers_idx on extmsg_deliveries (conversation_pk, pk)
    where ${WAITS} and for_clients_of is null`.execute(db);
  await sql`drop index concurrently if exists extmsg_deliveries_clients_idx`.execute(db);
  await sql`
    create index concurrently extmsg_deliveries_clients_idx on extmsg_deliveries (for_clients_of, conversation_pk, pk)
    where ${WAITS} and for_clients_of is not null`.execute(db);
  await sql`drop index concurrently if exists extmsg_deliveries_overdue_idx`.execute(db);
  await sql`
    create index concurrently extmsg_deliveries_overdue_idx on extmsg_deliveries (deadline)
    where ${WAITS} and for_clients_of is not null`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`alter table extmsg_deliveries drop column for_clients_of`.execute(db);
}
