import { sql, type Kysely } from 'kysely';

/**
 * Services of cities: what the files say of each, how it is, and which process has it until when. `generation` is raised by whatever
 * makes its process begin anew; `attempts` counts the processes that there have been, and marks them on their hosts.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table service_cities (
      stream_id integer primary key references event_streams (id),
      revision bigint not null default 0,
      running boolean not null default false
    ) with (fillfactor = 50)`.execute(db);
  await sql`
    create table services (
      pk bigint generated always as identity primary key,
      stream_id integer not null references event_streams (id),
      name text collate "C" not null,
      definition jsonb not null,
      present boolean not null default true,
      wanted boolean not null,
      generation integer not null default 1,
      state text not null,
      local_state text not null,
      reason text,
      detail text,
      updated_at timestamptz not null,
      worker text,
      lease_until timestamptz,
      attempts integer not null default 0,
      failures integer not null default 0,
      retry_at timestamptz,
      address text,
      instance text,
      constraint services_name_key unique (stream_id, name),
      constraint services_state_check check (state in ('starting', 'ready', 'degraded', 'stopping', 'stopped')),
      constraint services_instance_check check ((address is null) = (instance is null))
    ) with (fillfactor = 70)`.execute(db);
  // What somebody has to look at: what is to run, and what has an owner still.
  await sql`create index services_owner_idx on services (lease_until) where wanted or worker is not null`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop table services`.execute(db);
  await sql`drop table service_cities`.execute(db);
}
