import { sql, type Kysely } from 'kysely';

/**
 * What orders of cities are and when they are looked at next (`look_at`), each of their firings, and how far a city's
 * configuration and its events have been followed.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table order_cities (
      stream_id integer primary key references event_streams (id),
      revision bigint not null default 0,
      event_types text[] not null default '{}',
      event_seq bigint not null default 0
    ) with (fillfactor = 50)`.execute(db);
  await sql`
    create table orders (
      stream_id integer not null references event_streams (id),
      scoped_name text collate "C" not null,
      name text not null,
      rig text not null,
      definition jsonb not null,
      listens text collate "C",
      enabled boolean not null,
      present boolean not null default true,
      created_at timestamptz not null,
      next_due_at timestamptz,
      look_at timestamptz,
      event_cursor bigint not null default 0,
      last_started_at timestamptz,
      last_outcome text,
      failures integer not null default 0,
      note text,
      constraint orders_pkey primary key (stream_id, scoped_name)
    ) with (fillfactor = 70)`.execute(db);
  await sql`create index orders_look_idx on orders (look_at) where look_at is not null`.execute(db);
  await sql`create index orders_listens_idx on orders (stream_id, listens) where listens is not null`.execute(db);
  await sql`
    create table order_firings (
      pk bigint generated always as identity primary key,
      id text collate "C" not null constraint order_firings_id_key unique,
      stream_id integer not null references event_streams (id),
      scoped_name text collate "C" not null,
      name text not null,
      rig text not null,
      definition jsonb not null,
      cause text not null,
      actor text not null,
      reason text,
      vars jsonb not null default '{}',
      event jsonb,
      forced boolean not null default false,
      state text not null,
      created_at timestamptz not null,
      started_at timestamptz,
      finished_at timestamptz,
      worker text,
      lease_until timestamptz,
      attempts integer not null default 0,
      outcome text,
      exit_code integer,
      output text,
      error text,
      root_bead_id text,
      constraint order_firings_state_check check (state in ('checking', 'queued', 'running', 'done')),
      constraint order_firings_outcome_check check ((state = 'done') = (outcome is not null))
    ) with (fillfactor = 70)`.execute(db);
  // One at a time an order, whoever fires it: the one guarantee, on all replicas.
  await sql`
    create unique index order_firings_open_idx on order_firings (stream_id, scoped_name) where state <> 'done' and not forced`.execute(db);
  await sql`create index order_firings_history_idx on order_firings (stream_id, scoped_name, pk desc)`.execute(db);
  await sql`create index order_firings_work_idx on order_firings (stream_id, pk) where state <> 'done'`.execute(db);
  await sql`create index order_firings_lease_idx on order_firings (lease_until) where state <> 'done' and worker is not null`.execute(db);
  await sql`create index order_firings_finished_idx on order_firings (finished_at) where state = 'done'`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop table order_firings`.execute(db);
  await sql`drop table orders`.execute(db);
  await sql`drop table order_cities`.execute(db);
}
