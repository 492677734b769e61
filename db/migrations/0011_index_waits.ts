import { sql, type Kysely } from 'kysely';

/** Waits are beads of type `gate` with the label `gc:wait`; what they are by is in their metadata. */
export async function up(db: Kysely<unknown>): Promise<void> {
  // What expires next in any city. The times are text of one form and one length, so that their order is that of time;
  // anybody may write other texts into a bead, too long ones for an index among them.
  await sql`
    create index beads_wait_expiry_idx on beads ((metadata ->> 'expires_at') collate "C", stream_id)
    where issue_type = 'gate' and labels @> '{gc:wait}' and metadata ->> 'state' in ('pending', 'ready')
      and length(metadata ->> 'expires_at') = 24`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop index beads_wait_expiry_idx`.execute(db);
}
