import { sql, type Kysely } from 'kysely';

/**
 * A bead says what it `needs`, as it was told when it was made: who reads no edges sees that it is not ready.
 *
 * Times of beads and messages end in `Z`, as all others do. Postgres writes every time with an offset, `+00:00`.
 *
 * What has been written before stays: events and stored answers are what readers have had under their number or key, a rewrite
 * would change them behind the readers' backs, and both forms name the same moment.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  // Two and a half times as fast as to_char, and whatever the connection's TimeZone and DateStyle are.
  await sql`
    create function utc_text(p timestamptz) returns text language sql stable parallel safe as $$
      select (to_json(p at time zone 'UTC') #>> '{}') || 'Z'
    $$`.execute(db);
  await replaceMessageJson(db, 'utc_text(m.created_at)');
  await sql`
    create function bead_json(b beads, p_dependencies json, p_needs json) returns json language sql stable as $$
      select json_strip_nulls(json_build_object(
        'id', b.id, 'title', b.title, 'status', b.status, 'issue_type', b.issue_type, 'priority', b.priority, 'rig', nullif(b.rig, ''),
        'assignee', b.assignee, 'from', b.author, 'parent', b.parent, 'ref', b.ref, 'description', b.description,
        'labels', case when b.labels <> '{}' then b.labels end, 'metadata', case when b.metadata <> '{}' then b.metadata end,
        'dependencies', p_dependencies, 'needs', p_needs,
        'ephemeral', nullif(b.ephemeral, false), 'no_history', nullif(b.no_history, false), 'defer_until', utc_text(b.defer_until),
        'is_blocked', b.open_blockers > 0, 'revision', b.revision,
        'created_at', utc_text(b.created_at), 'updated_at', utc_text(b.updated_at), 'closed_at', utc_text(b.closed_at)))
    $$`.execute(db);
  // Two looks at the edges by their key, and no FROM: only so is the function put into the statement that calls it.
  await sql`
    create or replace function bead_json(b beads) returns json language sql stable as $$
      select bead_json(b, (
        select json_agg(json_build_object('issue_id', d.issue_id, 'depends_on_id', d.depends_on_id, 'type', d.type) order by d.depends_on_id)
        from bead_dependencies d where d.stream_id = b.stream_id and d.issue_id = b.id), (
        select json_agg(d.depends_on_id order by d.depends_on_id)
        from bead_dependencies d where d.stream_id = b.stream_id and d.issue_id = b.id and d.blocking))
    $$`.execute(db);
  // What creates a bead without edges knows that there are none.
  await sql`
    create or replace function bead_json(b beads, p_dependencies json) returns json language sql stable as $$
      select bead_json(b, p_dependencies, null::json)
    $$`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await replaceMessageJson(db, 'm.created_at');
  await sql`
    create or replace function bead_json(b beads, p_dependencies json) returns json language sql stable as $$
      select json_strip_nulls(json_build_object(
        'id', b.id, 'title', b.title, 'status', b.status, 'issue_type', b.issue_type, 'priority', b.priority, 'rig', nullif(b.rig, ''),
        'assignee', b.assignee, 'from', b.author, 'parent', b.parent, 'ref', b.ref, 'description', b.description,
        'labels', case when b.labels <> '{}' then b.labels end, 'metadata', case when b.metadata <> '{}' then b.metadata end,
        'dependencies', p_dependencies,
        'ephemeral', nullif(b.ephemeral, false), 'no_history', nullif(b.no_history, false), 'defer_until', b.defer_until,
        'is_blocked', b.open_blockers > 0, 'revision', b.revision,
        'created_at', b.created_at, 'updated_at', b.updated_at, 'closed_at', b.closed_at))
    $$`.execute(db);
  await sql`
    create or replace function bead_json(b beads) returns json language sql stable as $$
      select bead_json(b, (
        select json_agg(json_build_object('issue_id', d.issue_id, 'depends_on_id', d.depends_on_id, 'type', d.type) order by d.depends_on_id)
        from bead_dependencies d where d.stream_id = b.stream_id and d.issue_id = b.id))
    $$`.execute(db);
  await sql`drop function bead_json(beads, json, json)`.execute(db);
  await sql`drop function utc_text(timestamptz)`.execute(db);
}

async function replaceMessageJson(db: Kysely<unknown>, createdAt: string): Promise<void> {
  await sql`
    create or replace function message_json(m messages, p_rig text) returns json language sql stable as $$
      select json_strip_nulls(json_build_object(
        'id', m.id, 'from', m.sender, 'to', m.recipient, 'subject', m.subject, 'body', m.body, 'created_at', ${sql.raw(createdAt)},
        'read', m.read_at is not null, 'thread_id', m.thread_id, 'reply_to', m.reply_to, 'priority', m.priority,
        'cc', case when m.cc <> '{}' then m.cc end, 'rig', coalesce(nullif(m.rig, ''), p_rig)))
    $$`.execute(db);
}
