import { sql, type Kysely } from 'kysely';

/**
 * The names of the session that has launched a run, whose end closes nothing that is somebody else's by then; null where a person or an order has. A
 * replica of the release before leaves it null: its runs close what they are for, as before.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table runs add column asked_by text[]`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`alter table runs drop column asked_by`.execute(db);
}
