import { sql, type Kysely } from 'kysely';

/** Who runs: every process's heartbeat, what worker hosts found about providers, and the hashed API keys. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table processes (
      id text not null constraint processes_id_pkey primary key,
      role text not null,
      hostname text not null,
      version text not null,
      started_at timestamptz not null default now(),
      heartbeat_at timestamptz not null default now(),
      stopped_at timestamptz,
      probe_requested_at timestamptz,
      constraint processes_role_check check (role in ('all', 'api', 'worker'))
    )`.execute(db);
  await sql`create index processes_heartbeat_at_idx on processes (heartbeat_at)`.execute(db);
  await sql`
    create table provider_readiness (
      process_id text not null constraint provider_readiness_process_id_fkey references processes (id) on delete cascade,
      item text not null,
      status text not null,
      detail text,
      checked_at timestamptz not null default now(),
      constraint provider_readiness_process_id_item_pkey primary key (process_id, item)
    )`.execute(db);
  await sql`
    create table api_keys (
      id text collate "C" not null constraint api_keys_id_pkey primary key,
      name text not null,
      hash bytea not null,
      scope text not null,
      cities text[],
      created_at timestamptz not null default now(),
      last_used_at timestamptz,
      revoked_at timestamptz,
      constraint api_keys_scope_check check (scope in ('read', 'write'))
    )`.execute(db);
  await sql`create unique index api_keys_name_key on api_keys (name) where revoked_at is null`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop table api_keys, provider_readiness, processes`.execute(db);
}
