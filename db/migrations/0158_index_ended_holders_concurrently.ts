import { sql, type Kysely } from 'kysely';

/** Sessions that ended before, and to which something is assigned still, are marked as well: else nobody would give that back, nor remove their records. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    update sessions s set holds_more = true
    from (select distinct stream_id, assignee from beads where assignee is not null and status <> 'closed') b
    where s.stream_id = b.stream_id and s.id = b.assignee and s.state = 'closed' and not s.holds_more`.execute(db);
  await sql`drop index concurrently if exists sessions_holding_idx`.execute(db);
  await sql`create index concurrently sessions_holding_idx on sessions (stream_id, pk) where holds_more`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop index sessions_holding_idx`.execute(db);
}
