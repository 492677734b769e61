import { sql, type Kysely } from 'kysely';

/**
 * Since when an order is in no file any more, so that what is left of it can go. A replica of the release before does not note it: a worker of this
 * one does, when it comes across such an order.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table orders add column gone_at timestamptz`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`alter table orders drop column gone_at`.execute(db);
}
