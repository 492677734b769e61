import { sql, type Kysely } from 'kysely';

/** Long lists leave out of beads what may be long. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function bead_summary_json(b beads) returns json language sql stable as $$
      select json_strip_nulls(json_build_object(
        'id', b.id, 'title', b.title, 'status', b.status, 'issue_type', b.issue_type, 'priority', b.priority, 'rig', nullif(b.rig, ''),
        'assignee', b.assignee, 'from', b.author, 'parent', b.parent, 'ref', b.ref, 'has_description', coalesce(octet_length(b.description), 0) > 0,
        'labels', case when b.labels <> '{}' then b.labels end,
        'dependencies', (select json_agg(json_build_object('issue_id', d.issue_id, 'depends_on_id', d.depends_on_id, 'type', d.type) order by d.depends_on_id)
          from bead_dependencies d where d.stream_id = b.stream_id and d.issue_id = b.id),
        'needs', (select json_agg(d.depends_on_id order by d.depends_on_id)
          from bead_dependencies d where d.stream_id = b.stream_id and d.issue_id = b.id and d.blocking),
        'ephemeral', nullif(b.ephemeral, false), 'no_history', nullif(b.no_history, false), 'defer_until', utc_text(b.defer_until),
        'is_blocked', b.open_blockers > 0, 'revision', b.revision,
        'created_at', utc_text(b.created_at), 'updated_at', utc_text(b.updated_at), 'closed_at', utc_text(b.closed_at)))
    $$`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop function bead_summary_json(beads)`.execute(db);
}
