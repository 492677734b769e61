import { sql, type Kysely } from 'kysely';

const WAITS = sql`state = 'pending' and direction = 'outbound'`;

/**
 * What waits for a worker, what waits for the clients of an adapter, and what of that has waited too long. By the index over all that waits a look of
 * a worker took 160 ms with 10,000 conversations that wait for clients, and what is offered to a client was read among all that waits in all cities.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
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
  await sql`drop index extmsg_deliveries_overdue_idx`.execute(db);
  await sql`drop index extmsg_deliveries_clients_idx`.execute(db);
  await sql`drop index extmsg_deliveries_workers_idx`.execute(db);
}
