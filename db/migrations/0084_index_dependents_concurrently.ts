import { sql, type Kysely } from 'kysely';

/** A page of what depends on a bead is read in the order of its index, which is the one before with one column more. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`drop index concurrently if exists bead_dependents_idx`.execute(db);
  await sql`create index concurrently bead_dependents_idx on bead_dependencies (stream_id, depends_on_id, type, issue_id)`.execute(db);
  await sql`drop index concurrently if exists bead_dependencies_depends_on_idx`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`create index bead_dependencies_depends_on_idx on bead_dependencies (stream_id, depends_on_id, type)`.execute(db);
  await sql`drop index if exists bead_dependents_idx`.execute(db);
}
