import { sql, type Kysely } from 'kysely';

/**
 * The step of a round that the script of a check is about, as the run itself means it. The script got the step that was written last, which may be one that
 * cleans up, a scope or a fan-out. The release before keeps none; its checks are about the last step, as they were.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table run_checks add column subject text collate "C"`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`alter table run_checks drop column subject`.execute(db);
}
