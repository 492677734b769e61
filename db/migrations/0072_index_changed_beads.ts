import { sql, type Kysely } from 'kysely';

/** Lists by the time of the last change. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create index beads_changed_idx on beads (stream_id, (coalesce(updated_at, created_at)) desc, id desc) include (status)`.execute(
    db,
  );
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop index beads_changed_idx`.execute(db);
}
