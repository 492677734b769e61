import type { Kysely } from 'kysely';

/** What a program said of its version on a worker host. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('provider_readiness').addColumn('version', 'text').execute();
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('provider_readiness').dropColumn('version').execute();
}
