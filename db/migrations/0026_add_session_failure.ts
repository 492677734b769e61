import { sql, type Kysely } from 'kysely';

/** Why a session could not be started or went down, and a digest of all that its last start was made from. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table sessions add failure text, add tried_hash text`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`alter table sessions drop tried_hash, drop failure`.execute(db);
}
