import { sql, type Kysely } from 'kysely';

/**
 * What a host's kernel calls this start of it, so that runners of one host know each other when its name has changed between them; null where there
 * is no such name. A replica of the release before leaves it null: its runners are known by the host's name alone, as before.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table runners add column boot text`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`alter table runners drop column boot`.execute(db);
}
