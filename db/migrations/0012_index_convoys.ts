import { sql, type Kysely } from 'kysely';

/** The list of a city's convoys, closed ones included: few among many beads. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create index beads_convoys_idx on beads (stream_id, created_at desc, id desc) include (status, rig) where issue_type = 'convoy'`.execute(
    db,
  );
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop index beads_convoys_idx`.execute(db);
}
