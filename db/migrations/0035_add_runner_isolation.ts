import type { Kysely } from 'kysely';

/** What isolates the programs of a runner's host. Runners from before this had nothing. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('runners')
    .addColumn('isolation', 'text', (c) => c.notNull().defaultTo('none'))
    .execute();
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('runners').dropColumn('isolation').execute();
}
