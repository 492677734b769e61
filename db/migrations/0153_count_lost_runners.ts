import { sql, type Kysely } from 'kysely';

/** When a session has lost its worker, since it has last finished a turn. A worker of the release before does not count them, and takes none of them back. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table sessions add column losses timestamptz[]`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`alter table sessions drop column losses`.execute(db);
}
