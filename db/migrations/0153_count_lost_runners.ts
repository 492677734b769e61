import { sql, type Kysely } from 'kysely';

/**
 * When a session has lost its worker, since it has last finished a turn. A worker of the release before neither counts losses nor clears them: while an
 * upgrade is under way a session that finishes its turns there keeps those of the last hour, and may wait after the next one.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table sessions add column losses timestamptz[]`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`alter table sessions drop column losses`.execute(db);
}
