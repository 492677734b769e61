import { sql, type Kysely } from 'kysely';

/** The registry: one row a registered city, and the directories that a create is scaffolding right now. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table cities (
      id bigint generated always as identity constraint cities_id_pkey primary key,
      name text collate "C" not null constraint cities_name_key unique,
      dir text not null constraint cities_dir_key unique,
      stream_id integer not null constraint cities_stream_id_fkey references event_streams (id),
      provider text,
      start_command text,
      bootstrap_profile text,
      desired text not null default 'running',
      running boolean not null default false,
      phase text not null default 'loading_config',
      error text,
      failure_code text,
      failure_class text,
      failures integer not null default 0,
      next_retry_at timestamptz,
      config_hash text,
      suspended boolean,
      suspended_on_start boolean not null default false,
      session_template text,
      agent_count integer not null default 0,
      rig_count integer not null default 0,
      lease_owner text,
      lease_until timestamptz,
      version bigint not null default 1,
      created_at timestamptz not null default now(),
      started_at timestamptz,
      updated_at timestamptz not null default now(),
      constraint cities_desired_check check (desired in ('running', 'stopped')),
      constraint cities_failure_class_check check (failure_class in ('transient', 'structural'))
    )`.execute(db);
  await sql`create index cities_stream_id_idx on cities (stream_id)`.execute(db);
  await sql`create index cities_waiting_idx on cities (next_retry_at) where not running and desired = 'running'`.execute(db);
  await sql`
    create table city_reservations (
      dir text not null constraint city_reservations_dir_pkey primary key,
      name text collate "C" not null constraint city_reservations_name_key unique,
      request_id text not null,
      process_id text not null,
      scaffold jsonb not null,
      expires_at timestamptz not null,
      created_at timestamptz not null default now()
    )`.execute(db);
  await sql`create index city_reservations_expires_at_idx on city_reservations (expires_at)`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop table city_reservations, cities`.execute(db);
}
