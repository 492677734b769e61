import { sql, type Kysely } from 'kysely';

/**
 * Accepted asynchronous work (the outbox and the truth of every 202), stored answers for Idempotency-Key, and the
 * keys held by work that spans several transactions. Answers are `json`, not `jsonb`: a replay repeats the members' order.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table operations (
      id text collate "C" not null constraint operations_id_pkey primary key,
      kind text not null,
      target text not null,
      subject text,
      stream text not null,
      input json not null,
      event_cursor text not null default '',
      state text not null default 'accepted',
      phase text,
      attempts integer not null default 0,
      lease_owner text,
      lease_until timestamptz,
      fence bigint not null default 0,
      run_after timestamptz not null default now(),
      deadline_at timestamptz not null,
      result json,
      error_code text,
      error_message text,
      created_at timestamptz not null default now(),
      finished_at timestamptz,
      constraint operations_state_check check (state in ('accepted', 'running', 'succeeded', 'failed')),
      constraint operations_finished_at_check check ((finished_at is null) = (state in ('accepted', 'running')))
    )`.execute(db);
  await sql`create unique index operations_stream_target_key on operations (stream, target) where state in ('accepted', 'running')`.execute(
    db,
  );
  await sql`create index operations_unfinished_idx on operations (run_after) where state in ('accepted', 'running')`.execute(db);
  await sql`create index operations_finished_at_idx on operations (finished_at) where finished_at is not null`.execute(db);
  await sql`
    create table idempotency_keys (
      scope text not null,
      operation text not null,
      key text not null,
      body_hash bytea not null,
      status smallint not null,
      body json not null,
      created_at timestamptz not null default now(),
      constraint idempotency_keys_scope_operation_key_pkey primary key (scope, operation, key)
    )`.execute(db);
  await sql`create index idempotency_keys_created_at_idx on idempotency_keys using brin (created_at)`.execute(db);
  await sql`
    create table idempotency_holds (
      scope text not null,
      operation text not null,
      key text not null,
      owner text not null,
      expires_at timestamptz not null,
      constraint idempotency_holds_scope_operation_key_pkey primary key (scope, operation, key)
    )`.execute(db);
  await sql`create index idempotency_holds_expires_at_idx on idempotency_holds (expires_at)`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop table idempotency_holds, idempotency_keys, operations`.execute(db);
}
