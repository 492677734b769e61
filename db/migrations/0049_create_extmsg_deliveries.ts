import { sql, type Kysely } from 'kysely';

const SOURCES = `'create', 'message', 'submit', 'wait', 'nudge'`;

/**
 * Adapters, and what is on its way: to a member of a conversation, through the queue of its session, or out to an adapter. An adapter's
 * token is kept as a hash; what its calls are signed with is made from the deployment's secret and `secret_version`.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table extmsg_adapters (
      pk bigint generated always as identity primary key,
      stream_id integer not null references event_streams (id),
      provider text collate "C" not null,
      account_id text collate "C" not null,
      name text not null,
      callback_url text not null,
      capabilities jsonb,
      token_hash bytea not null,
      secret_version integer not null default 1,
      lease_s integer,
      used_keys jsonb not null default '[]',
      registered_at timestamptz not null default clock_timestamp(),
      last_seen_at timestamptz not null default clock_timestamp(),
      failures integer not null default 0,
      last_error text,
      last_ok_at timestamptz,
      constraint extmsg_adapters_account_key unique (stream_id, provider, account_id)
    )`.execute(db);

  await sql`
    create table extmsg_deliveries (
      pk bigint generated always as identity primary key,
      stream_id integer not null references event_streams (id),
      conversation_pk bigint not null references extmsg_conversations (pk) on delete cascade,
      id text collate "C" not null unique,
      direction text not null check (direction in ('inbound', 'peer', 'outbound')),
      state text not null default 'pending' check (state in ('pending', 'queued', 'delivered', 'failed', 'skipped')),
      sequence bigint,
      selector text collate "C" not null default '',
      session_pk bigint,
      session_id text collate "C" not null default '',
      body text not null,
      message_id text collate "C",
      attempts integer not null default 0,
      not_before timestamptz not null default clock_timestamp(),
      deadline timestamptz not null,
      error_code text,
      error text,
      created_at timestamptz not null default clock_timestamp(),
      ended_at timestamptz,
      conversation jsonb,
      attachments jsonb not null default '[]',
      reply_to_message_id text not null default '',
      explicit_target text not null default '',
      idempotency_key text collate "C" not null default '',
      body_hash bytea,
      generation bigint,
      root bigint,
      triggered boolean not null default false,
      worker text collate "C",
      lease_until timestamptz,
      receipt jsonb
    )`.execute(db);
  await sql`create unique index extmsg_deliveries_member_key on extmsg_deliveries (conversation_pk, sequence, selector)
    where direction <> 'outbound'`.execute(db);
  await sql`create unique index extmsg_deliveries_told_key on extmsg_deliveries (conversation_pk, sequence, session_pk)
    where direction <> 'outbound' and session_pk is not null`.execute(db);
  await sql`create unique index extmsg_deliveries_once_key on extmsg_deliveries (conversation_pk, idempotency_key)
    where direction = 'outbound' and idempotency_key <> ''`.execute(db);
  await sql`create index extmsg_deliveries_line_idx on extmsg_deliveries (conversation_pk, pk)
    where state = 'pending' and direction = 'outbound'`.execute(db);
  await sql`create index extmsg_deliveries_member_idx on extmsg_deliveries (stream_id, selector, pk)
    where state = 'pending' and direction <> 'outbound'`.execute(db);
  await sql`create index extmsg_deliveries_message_idx on extmsg_deliveries (message_id) where state = 'queued'`.execute(db);
  await sql`create index extmsg_deliveries_list_idx on extmsg_deliveries (stream_id, pk)`.execute(db);
  await sql`create index extmsg_deliveries_failed_idx on extmsg_deliveries (stream_id, pk) where state = 'failed'`.execute(db);
  await sql`create index extmsg_deliveries_conversation_idx on extmsg_deliveries (conversation_pk, pk)`.execute(db);
  await sql`create index extmsg_deliveries_root_idx on extmsg_deliveries (conversation_pk, root) where root is not null`.execute(db);
  await sql`create index extmsg_deliveries_ended_idx on extmsg_deliveries (ended_at) where ended_at is not null`.execute(db);

  await sql`
    create table extmsg_contexts (
      conversation_pk bigint not null references extmsg_conversations (pk) on delete cascade,
      session_pk bigint not null,
      generation bigint not null,
      last_message_id text not null,
      last_published_at timestamptz not null,
      primary key (conversation_pk, session_pk)
    )`.execute(db);
  await allow(db, `${SOURCES}, 'external'`);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await allow(db, SOURCES);
  for (const table of ['contexts', 'deliveries', 'adapters']) await sql`drop table ${sql.table(`extmsg_${table}`)}`.execute(db);
}

/** What a message of a session may come from. */
async function allow(db: Kysely<unknown>, sources: string): Promise<void> {
  await sql`alter table session_messages drop constraint session_messages_source_check`.execute(db);
  await sql`alter table session_messages add constraint session_messages_source_check check (source in (${sql.raw(sources)})) not valid`.execute(
    db,
  );
}
