import { sql, type Kysely } from 'kysely';

/** Records of refused requests by the city that they name: when there are too many, they go before those of changes, and are counted apart. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`drop index concurrently if exists audit_records_refused_idx`.execute(db);
  await sql`create index concurrently audit_records_refused_idx on audit_records (city, at, id) where status >= 400`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop index audit_records_refused_idx`.execute(db);
}
