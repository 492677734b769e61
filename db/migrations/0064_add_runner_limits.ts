import type { Kysely } from 'kysely';

/** What limits the programs of cities on the host of a runner; null of those that an earlier release registers. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('runners').addColumn('limits', 'jsonb').execute();
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('runners').dropColumn('limits').execute();
}
