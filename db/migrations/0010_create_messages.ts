import { sql, type Kysely } from 'kysely';

/**
 * The mail of a city. A message lies in exactly one mailbox: that of its principal, the stable id of whom it was
 * addressed to (`human` or `agent:<canonical name>`), decided once when it was sent. What was archived stays for a while
 * and is final. Writers hold the city's work lock.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  // sender_principal is null for senders that nobody can answer. rig is the tag that the sender gave, '' without one.
  await sql`
    create table messages (
      stream_id integer not null references event_streams (id),
      id text collate "C" not null,
      rig text collate "C" not null default '',
      thread_id text collate "C" not null,
      reply_to text collate "C",
      principal text collate "C" not null,
      recipient text not null,
      sender_principal text collate "C",
      sender text not null,
      subject text not null,
      body text not null,
      priority smallint check (priority between 0 and 4),
      cc text[] not null default '{}',
      created_at timestamptz not null default clock_timestamp(),
      read_at timestamptz,
      archived_at timestamptz,
      archived_as text check (archived_as in ('archived', 'deleted', 'swept')),
      primary key (stream_id, id),
      check ((archived_at is null) = (archived_as is null))
    )`.execute(db);
  // read_at lets totals be counted in the index alone.
  await sql`
    create index messages_open_idx on messages (stream_id, created_at desc, id desc) include (read_at)
    where archived_at is null`.execute(db);
  await sql`
    create index messages_mailbox_idx on messages (stream_id, principal, created_at desc, id desc) include (read_at)
    where archived_at is null`.execute(db);
  await sql`
    create index messages_archive_idx on messages (stream_id, created_at desc, id desc)
    where archived_at is not null and archived_as <> 'deleted'`.execute(db);
  await sql`create index messages_thread_idx on messages (stream_id, thread_id, created_at, id)`.execute(db);
  await sql`
    create index messages_read_idx on messages (stream_id, read_at) where archived_at is null and read_at is not null`.execute(db);
  await sql`create index messages_archived_at_idx on messages (archived_at) where archived_at is not null`.execute(db);

  // The one predicate of what lists, counts and threads show.
  await sql`
    create function message_is_open(m messages) returns boolean
    language sql stable as $$ select m.archived_at is null $$`.execute(db);
  // p_rig tags a message that has no tag of its own.
  await sql`
    create function message_json(m messages, p_rig text) returns json
    language sql stable as $$
      select json_strip_nulls(json_build_object(
        'id', m.id, 'from', m.sender, 'to', m.recipient, 'subject', m.subject, 'body', m.body, 'created_at', m.created_at,
        'read', m.read_at is not null, 'thread_id', m.thread_id, 'reply_to', m.reply_to, 'priority', m.priority,
        'cc', case when m.cc <> '{}' then m.cc end, 'rig', coalesce(nullif(m.rig, ''), p_rig)))
    $$`.execute(db);
  // What a city's status says about its mail.
  await sql`
    create function mail_counts(p_stream integer, out total bigint, out unread bigint)
    language sql stable as $$
      select count(*), count(*) filter (where m.read_at is null) from messages m where m.stream_id = p_stream and message_is_open(m)
    $$`.execute(db);

  // No row: unread mail of the city is kept for ever.
  await sql`
    create table mail_settings (
      stream_id integer primary key references event_streams (id),
      unread_retention interval not null
    )`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await db.schema.dropTable('mail_settings').execute();
  await sql`drop function mail_counts(integer), message_json(messages, text), message_is_open(messages)`.execute(db);
  await db.schema.dropTable('messages').execute();
}
