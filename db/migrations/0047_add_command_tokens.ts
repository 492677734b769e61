import { sql, type Kysely } from 'kysely';

/** With what the command of an order, or the script of a check, that is carried out calls the API: a hash, good while its lease lasts. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const table of ['order_firings', 'run_checks']) await sql`alter table ${sql.table(table)} add column token_hash bytea`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  for (const table of ['order_firings', 'run_checks']) await sql`alter table ${sql.table(table)} drop column token_hash`.execute(db);
}
