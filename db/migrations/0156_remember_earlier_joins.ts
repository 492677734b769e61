import { sql, type Kysely } from 'kysely';

/**
 * A city that registers, leaves and registers again had only the last of these times: whoever had the feed from before the first one, and came back, was told
 * of the second life alone. The release before adds none of them; it reads none.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table event_streams add column earlier_joins bigint[] not null default '{}'`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`alter table event_streams drop column earlier_joins`.execute(db);
}
