import { sql, type Kysely } from 'kysely';

/**
 * What the files of a city were when they were composed last, for whoever looks after them next: to look at them costs less than to compose
 * them. It is out of the row, which is read for all cities at once.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table config_states add column ledger text`.execute(db);
  await sql`alter table config_states set (toast_tuple_target = 128)`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`alter table config_states reset (toast_tuple_target)`.execute(db);
  await sql`alter table config_states drop column ledger`.execute(db);
}
