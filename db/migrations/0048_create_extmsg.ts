import { sql, type Kysely } from 'kysely';

/**
 * External messaging. A conversation is one row, found by a hash of its six parts; whoever changes what hangs from it locks that row
 * first. Its counters give out sequences and generations, so neither is ever used twice. Sessions are named by their `pk` and
 * without a foreign key: what is theirs ends in the transaction in which they end.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table extmsg_conversations (
      pk bigint generated always as identity primary key,
      stream_id integer not null references event_streams (id),
      key bytea not null,
      scope_id text not null,
      provider text collate "C" not null,
      account_id text collate "C" not null,
      conversation_id text not null,
      parent_conversation_id text not null,
      kind text not null check (kind in ('dm', 'room', 'thread')),
      head bigint not null default 0,
      earliest bigint not null default 1,
      generation bigint not null default 0,
      created_at timestamptz not null default clock_timestamp(),
      constraint extmsg_conversations_key_key unique (stream_id, key)
    )`.execute(db);

  await sql`
    create table extmsg_bindings (
      pk bigint generated always as identity primary key,
      stream_id integer not null references event_streams (id),
      conversation_pk bigint not null references extmsg_conversations (pk) on delete cascade,
      id text collate "C" not null unique,
      session_pk bigint,
      session_id text collate "C" not null default '',
      session_name text collate "C" not null default '',
      agent_name text collate "C" not null default '',
      status text not null default 'active' check (status in ('active', 'ended')),
      generation bigint not null,
      metadata jsonb not null default '{}',
      bound_at timestamptz not null default clock_timestamp(),
      expires_at timestamptz,
      ended_at timestamptz,
      constraint extmsg_bindings_target_check check ((session_pk is null) <> (agent_name = ''))
    )`.execute(db);
  await sql`create unique index extmsg_bindings_active_key on extmsg_bindings (conversation_pk) where status = 'active'`.execute(db);
  await sql`create index extmsg_bindings_session_idx on extmsg_bindings (stream_id, session_pk) where status = 'active'`.execute(db);
  await sql`create index extmsg_bindings_agent_idx on extmsg_bindings (stream_id, agent_name) where status = 'active'`.execute(db);
  await sql`create index extmsg_bindings_expiry_idx on extmsg_bindings (expires_at) where status = 'active' and expires_at is not null`.execute(
    db,
  );
  await sql`create index extmsg_bindings_ended_idx on extmsg_bindings (ended_at) where status = 'ended'`.execute(db);
  await sql`create index extmsg_bindings_conversation_idx on extmsg_bindings (conversation_pk)`.execute(db);

  await sql`
    create table extmsg_groups (
      pk bigint generated always as identity primary key,
      stream_id integer not null references event_streams (id),
      conversation_pk bigint not null unique references extmsg_conversations (pk) on delete cascade,
      id text collate "C" not null unique,
      mode text not null check (mode in ('launcher')),
      default_handle text not null default '',
      last_addressed_handle text not null default '',
      fanout_enabled boolean not null,
      fanout_untargeted boolean not null,
      max_peer_publishes integer not null check (max_peer_publishes > 0),
      max_peer_deliveries integer not null check (max_peer_deliveries > 0),
      metadata jsonb not null default '{}',
      created_at timestamptz not null default clock_timestamp(),
      updated_at timestamptz not null default clock_timestamp()
    )`.execute(db);
  await sql`
    create table extmsg_participants (
      pk bigint generated always as identity primary key,
      group_pk bigint not null references extmsg_groups (pk) on delete cascade,
      stream_id integer not null references event_streams (id),
      id text collate "C" not null unique,
      handle text not null,
      session_pk bigint,
      session_id text collate "C" not null default '',
      session_name text collate "C" not null default '',
      agent_name text collate "C" not null default '',
      public boolean not null default false,
      metadata jsonb not null default '{}',
      closed_at timestamptz,
      constraint extmsg_participants_target_check check ((session_pk is null) <> (agent_name = ''))
    )`.execute(db);
  await sql`create unique index extmsg_participants_open_key on extmsg_participants (group_pk, handle) where closed_at is null`.execute(db);
  await sql`create index extmsg_participants_group_idx on extmsg_participants (group_pk)`.execute(db);
  await sql`create index extmsg_participants_session_idx on extmsg_participants (stream_id, session_pk) where closed_at is null`.execute(
    db,
  );
  await sql`create index extmsg_participants_closed_idx on extmsg_participants (closed_at) where closed_at is not null`.execute(db);

  await sql`
    create table extmsg_memberships (
      pk bigint generated always as identity primary key,
      stream_id integer not null references event_streams (id),
      conversation_pk bigint not null references extmsg_conversations (pk) on delete cascade,
      selector text collate "C" not null,
      session_pk bigint,
      owners text[] not null,
      joined_sequence bigint not null,
      last_read_sequence bigint not null default 0,
      joined_at timestamptz not null default clock_timestamp(),
      closed_at timestamptz,
      constraint extmsg_memberships_owners_check check (owners <@ array['binding', 'group'])
    )`.execute(db);
  await sql`create unique index extmsg_memberships_open_key on extmsg_memberships (conversation_pk, selector) where closed_at is null`.execute(
    db,
  );
  await sql`create index extmsg_memberships_session_idx on extmsg_memberships (stream_id, session_pk) where closed_at is null`.execute(db);
  await sql`create index extmsg_memberships_closed_idx on extmsg_memberships (closed_at) where closed_at is not null`.execute(db);

  await sql`
    create table extmsg_entries (
      conversation_pk bigint not null references extmsg_conversations (pk) on delete cascade,
      sequence bigint not null,
      id text collate "C" not null unique,
      kind text not null check (kind in ('inbound', 'outbound')),
      provider_message_id text not null default '',
      once_key text collate "C" not null default '',
      actor jsonb not null,
      text text not null,
      explicit_target text not null default '',
      reply_to_message_id text not null default '',
      attachments jsonb not null default '[]',
      source_session_id text not null default '',
      route jsonb not null default '{}',
      created_at timestamptz not null default clock_timestamp(),
      primary key (conversation_pk, sequence)
    )`.execute(db);
  await sql`create unique index extmsg_entries_once_key on extmsg_entries (conversation_pk, once_key) where once_key <> ''`.execute(db);
  await sql`create index extmsg_entries_created_idx on extmsg_entries (created_at)`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  for (const table of ['entries', 'memberships', 'participants', 'groups', 'bindings', 'conversations'])
    await sql`drop table ${sql.table(`extmsg_${table}`)}`.execute(db);
}
