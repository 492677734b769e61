import { sql, type Kysely } from 'kysely';

/**
 * What cities say about their maintenance and when it is due, each cycle with what has come of it, and how the tables of the whole
 * deployment were when they were looked at last.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table maintenance_cities (
      stream_id integer primary key references event_streams (id),
      revision bigint not null default 0,
      settings jsonb,
      next_at timestamptz,
      look_at timestamptz,
      disk text not null default 'ok' check (disk in ('ok', 'warn', 'critical')),
      constraint maintenance_cities_off_check check (settings is not null or (next_at is null and look_at is null))
    ) with (fillfactor = 50)`.execute(db);
  await sql`create index maintenance_cities_next_idx on maintenance_cities (next_at) where next_at is not null`.execute(db);
  await sql`create index maintenance_cities_look_idx on maintenance_cities (look_at) where look_at is not null`.execute(db);
  await sql`
    create table maintenance_cycles (
      pk bigint generated always as identity primary key,
      stream_id integer not null references event_streams (id),
      cause text not null check (cause in ('schedule', 'request')),
      settings jsonb not null,
      state text not null default 'queued' check (state in ('queued', 'running', 'done')),
      worker text,
      lease_until timestamptz,
      created_at timestamptz not null default clock_timestamp(),
      begun_at timestamptz,
      finished_at timestamptz,
      stage text not null default 'prune',
      error text,
      skipped text,
      before_bytes bigint not null default 0,
      after_bytes bigint not null default 0,
      live_rows bigint not null default 0,
      removed jsonb not null default '{}',
      warnings jsonb not null default '[]',
      constraint maintenance_cycles_done_check check ((state = 'done') = (finished_at is not null)),
      constraint maintenance_cycles_lease_check check ((state = 'running') = (worker is not null) and (worker is null) = (lease_until is null))
    ) with (fillfactor = 70)`.execute(db);
  await sql`create unique index maintenance_cycles_open_idx on maintenance_cycles (stream_id) where state <> 'done'`.execute(db);
  await sql`create index maintenance_cycles_history_idx on maintenance_cycles (stream_id, pk desc)`.execute(db);
  await sql`create index maintenance_cycles_waiting_idx on maintenance_cycles (pk) where state = 'queued'`.execute(db);
  await sql`create index maintenance_cycles_lease_idx on maintenance_cycles (lease_until) where state = 'running'`.execute(db);
  await sql`
    create table store_looks (
      only_one boolean primary key default true check (only_one),
      look_at timestamptz not null,
      looked_at timestamptz,
      entries_seen bigint not null default 0,
      warnings jsonb not null default '[]'
    )`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop table store_looks`.execute(db);
  await sql`drop table maintenance_cycles`.execute(db);
  await sql`drop table maintenance_cities`.execute(db);
}
