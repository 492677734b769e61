import { sql, type Kysely } from 'kysely';

const STATES = `'start-pending', 'creating', 'active', 'asleep', 'suspended', 'draining', 'archived', 'quarantined', 'failed-create', 'closed'`;

/**
 * Sessions: conversations that last, with or without a process behind them, and what their runners and clients tell each
 * other. A runner's lease is one row for all that it holds; `generation` counts a session's processes and fences each of
 * them, `runner_id` says who may have one. Positions in a session's log (`rev`) come from `session_logs.head`: the row's
 * lock is held to the commit, so a reader that sees a head sees everything up to it.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table runners (
      id text collate "C" primary key,
      process_id text not null,
      host text not null,
      capacity integer not null check (capacity >= 0),
      state text not null check (state in ('active', 'draining', 'stopped', 'lost')),
      lease_until timestamptz not null,
      registered_at timestamptz not null default now(),
      ended_at timestamptz
    )`.execute(db);
  await sql`create index runners_live_idx on runners (lease_until) where state in ('active', 'draining')`.execute(db);

  await sql`
    create table sessions (
      pk bigint generated always as identity primary key,
      stream_id integer not null references event_streams (id),
      id text collate "C" not null,
      session_name text collate "C" not null,
      alias text collate "C" not null default '',
      past_aliases text[] not null default '{}',
      title text not null,
      kind text not null check (kind in ('agent', 'provider')),
      template text collate "C" not null,
      agent text collate "C",
      agent_name text collate "C",
      slot integer,
      rig text collate "C" not null default '',
      provider text collate "C" not null,
      preset text collate "C",
      transport text not null default 'acp' check (transport in ('acp', 'pty', 'exec')),
      origin text not null check (origin in ('manual', 'named', 'pool')),
      named_identity text collate "C",
      created_by text not null,
      state text not null check (state in (${sql.raw(STATES)})),
      reason text,
      close_code text,
      generation bigint not null default 0,
      epoch integer not null default 1,
      instance_token text,
      token_hash bytea,
      session_key text,
      runner_id text collate "C" references runners (id),
      live boolean not null default false,
      wake_request text,
      wake_requested_at timestamptz,
      not_before timestamptz,
      stop_request text check (stop_request in ('sleep', 'suspend', 'drain', 'kill', 'reset', 'close', 'handover')),
      stop_reason text,
      stop_requested_at timestamptz,
      stop_deadline timestamptz,
      start_deadline timestamptz,
      held_until timestamptz,
      quarantined_until timestamptz,
      reset_pending boolean not null default false,
      delete_pending boolean not null default false,
      continuity_eligible boolean not null default true,
      failed_starts integer not null default 0,
      crashes timestamptz[] not null default '{}',
      churns integer not null default 0,
      options jsonb not null default '{}',
      option_schema jsonb,
      capabilities jsonb not null default '{}',
      metadata jsonb not null default '{}',
      work_dir text,
      launch_hash text,
      stderr_tail text,
      created_at timestamptz not null default clock_timestamp(),
      updated_at timestamptz not null default clock_timestamp(),
      state_at timestamptz not null default clock_timestamp(),
      last_woke_at timestamptz,
      ready_at timestamptz,
      last_turn_at timestamptz,
      closed_at timestamptz,
      constraint sessions_id_key unique (stream_id, id),
      constraint sessions_closed_check check ((state = 'closed') = (closed_at is not null)),
      constraint sessions_live_check check (not live or runner_id is not null)
    )`.execute(db);
  await sql`create index sessions_list_idx on sessions (stream_id, created_at desc, pk desc)`.execute(db);
  await sql`create index sessions_open_idx on sessions (stream_id, created_at desc, pk desc) where state <> 'closed'`.execute(db);
  await sql`create index sessions_template_idx on sessions (stream_id, template) where state <> 'closed'`.execute(db);
  await sql`create index sessions_name_idx on sessions (stream_id, session_name)`.execute(db);
  await sql`create index sessions_alias_idx on sessions (stream_id, alias) where alias <> ''`.execute(db);
  await sql`create index sessions_runner_idx on sessions (runner_id) where runner_id is not null`.execute(db);
  await sql`create index sessions_wanted_idx on sessions (wake_requested_at)
    where wake_request is not null and runner_id is null and state in ('start-pending', 'asleep')`.execute(db);
  await sql`create index sessions_stopping_idx on sessions (stop_requested_at) where stop_request is not null`.execute(db);

  // One name, one owner, whatever kind of name it is. A configured identity is reserved before a session bears it.
  await sql`
    create table session_names (
      stream_id integer not null references event_streams (id),
      name text collate "C" not null,
      kind text not null check (kind in ('session_name', 'alias', 'agent', 'identity')),
      session_pk bigint references sessions (pk) on delete cascade,
      primary key (stream_id, name),
      constraint session_names_owner_check check (session_pk is not null or kind = 'identity')
    )`.execute(db);
  await sql`create index session_names_session_idx on session_names (session_pk)`.execute(db);

  await sql`
    create table session_logs (
      session_pk bigint primary key references sessions (pk) on delete cascade,
      head bigint not null default 0,
      entries bigint not null default 0,
      compactions bigint not null default 0,
      generation bigint not null default 0,
      turns bigint not null default 0,
      activity text not null default 'idle' check (activity in ('idle', 'in-turn')),
      activity_rev bigint not null default 0,
      activity_at timestamptz not null default clock_timestamp(),
      status_rev bigint not null default 0,
      last_output_at timestamptz,
      model text,
      context_used bigint,
      context_window bigint
    ) with (fillfactor = 70)`.execute(db);

  await sql`
    create table session_entries (
      session_pk bigint not null references sessions (pk) on delete cascade,
      seq bigint not null,
      rev bigint not null,
      entry_id text collate "C" not null,
      epoch integer not null,
      generation bigint not null,
      turn bigint not null,
      kind text not null check (kind in ('message', 'thought', 'tool', 'plan', 'interaction', 'system', 'compaction')),
      role text not null check (role in ('user', 'assistant', 'system', 'tool', 'unknown')),
      status text not null check (status in ('unknown', 'final', 'partial', 'superseded')),
      blocks jsonb not null,
      raw jsonb,
      model text,
      parent_tool_use_id text collate "C",
      created_at timestamptz not null default clock_timestamp(),
      primary key (session_pk, seq),
      constraint session_entries_entry_key unique (session_pk, entry_id)
    ) with (fillfactor = 80)`.execute(db);
  await sql`create unique index session_entries_rev_key on session_entries (session_pk, rev)`.execute(db);
  await sql`create index session_entries_compaction_idx on session_entries (session_pk, seq) where kind = 'compaction'`.execute(db);
  await sql`create index session_entries_parent_idx on session_entries (session_pk, parent_tool_use_id, seq) where parent_tool_use_id is not null`.execute(
    db,
  );

  await sql`
    create table session_messages (
      pk bigint generated always as identity primary key,
      stream_id integer not null references event_streams (id),
      session_pk bigint not null references sessions (pk) on delete cascade,
      id text collate "C" not null unique,
      intent text not null check (intent in ('default', 'follow_up', 'interrupt_now')),
      body text not null,
      source text not null check (source in ('create', 'message', 'submit', 'wait', 'nudge')),
      reference text,
      sender text not null,
      epoch integer,
      request_id text collate "C",
      status text not null default 'queued'
        check (status in ('queued', 'in_flight', 'delivered', 'unconfirmed', 'failed', 'cancelled', 'expired')),
      generation bigint,
      attempts integer not null default 0,
      error_code text,
      error_message text,
      created_at timestamptz not null default clock_timestamp(),
      deliver_after timestamptz not null default clock_timestamp(),
      expires_at timestamptz not null default clock_timestamp() + interval '24 hours',
      ended_at timestamptz
    )`.execute(db);
  await sql`create index session_messages_queue_idx on session_messages (session_pk, pk) where status in ('queued', 'in_flight')`.execute(
    db,
  );
  await sql`create index session_messages_expiry_idx on session_messages (expires_at) where status = 'queued'`.execute(db);
  await sql`create index session_messages_list_idx on session_messages (session_pk, pk desc)`.execute(db);
  await sql`create unique index session_messages_wait_key on session_messages (stream_id, reference)
    where source = 'wait' and status in ('queued', 'in_flight', 'delivered')`.execute(db);

  await sql`
    create table session_interactions (
      pk bigint generated always as identity primary key,
      stream_id integer not null references event_streams (id),
      session_pk bigint not null references sessions (pk) on delete cascade,
      request_id text collate "C" not null,
      generation bigint not null,
      kind text not null,
      prompt text not null,
      options jsonb not null,
      metadata jsonb not null default '{}',
      status text not null default 'open' check (status in ('open', 'answered', 'cancelled', 'expired')),
      action text,
      answer jsonb,
      answered_by text,
      applied boolean not null default false,
      opened_rev bigint not null,
      closed_rev bigint,
      opened_at timestamptz not null default clock_timestamp(),
      closed_at timestamptz,
      constraint session_interactions_request_key unique (session_pk, request_id)
    )`.execute(db);
  await sql`create index session_interactions_open_idx on session_interactions (stream_id, opened_at, pk) where status = 'open'`.execute(
    db,
  );
  await sql`create index session_interactions_session_idx on session_interactions (session_pk) where status = 'open'`.execute(db);
  await sql`create index session_interactions_unapplied_idx on session_interactions (session_pk) where status = 'answered' and not applied`.execute(
    db,
  );
  await sql`create index session_interactions_opened_idx on session_interactions (session_pk, opened_rev)`.execute(db);
  await sql`create index session_interactions_closed_idx on session_interactions (session_pk, closed_rev) where closed_rev is not null`.execute(
    db,
  );

  await sql`
    create table session_commands (
      pk bigint generated always as identity primary key,
      session_pk bigint not null references sessions (pk) on delete cascade,
      generation bigint not null,
      kind text not null check (kind in ('interrupt', 'set_option')),
      body jsonb not null default '{}',
      status text not null default 'waiting' check (status in ('waiting', 'taken', 'done', 'failed')),
      error text,
      created_at timestamptz not null default clock_timestamp(),
      ended_at timestamptz
    )`.execute(db);
  await sql`create index session_commands_waiting_idx on session_commands (session_pk, pk) where status in ('waiting', 'taken')`.execute(
    db,
  );

  await sql`
    create table session_turns (
      session_pk bigint not null references sessions (pk) on delete cascade,
      turn bigint not null,
      stream_id integer not null references event_streams (id),
      agent text collate "C",
      generation bigint not null,
      started_at timestamptz not null default clock_timestamp(),
      ended_at timestamptz,
      stop_reason text,
      model text,
      input_tokens bigint not null default 0,
      output_tokens bigint not null default 0,
      cache_read_tokens bigint not null default 0,
      cache_creation_tokens bigint not null default 0,
      cost_usd double precision,
      reported boolean not null default false,
      primary key (session_pk, turn)
    )`.execute(db);
  await sql`create index session_turns_city_idx on session_turns (stream_id, ended_at) where ended_at is not null`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  for (const table of [
    'session_turns',
    'session_commands',
    'session_interactions',
    'session_messages',
    'session_entries',
    'session_logs',
    'session_names',
    'sessions',
    'runners',
  ]) {
    await sql`drop table ${sql.table(table)}`.execute(db);
  }
}
