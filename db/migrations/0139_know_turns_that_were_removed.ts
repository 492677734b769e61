import { sql, type Kysely } from 'kysely';

/**
 * A session that is deleted takes its turns along, and what they have used is in no sum any more. Up to when that may be so of a city: sums of a
 * time that begins before say that they are not all. A replica of the release before does not note it.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table usage_cities add column removed_until timestamptz`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`alter table usage_cities drop column removed_until`.execute(db);
}
