import { sql, type Kysely } from 'kysely';

/**
 * What a drain does for each member of a convoy, and how long the rounds of a check may take. A unit holds its member while no other run
 * is to work on it. The time of a round runs from when the first of its steps is begun: `due_at` says when it is over.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table run_units (
      stream_id integer not null references event_streams (id),
      drain_id text collate "C" not null,
      n integer not null,
      run_id text collate "C" not null,
      member_id text collate "C" not null,
      convoy_id text collate "C",
      own_convoy boolean not null,
      held boolean not null,
      outcome text check (outcome in ('pass', 'fail', 'skipped', 'canceled')),
      reason text,
      constraint run_units_pkey primary key (stream_id, drain_id, n),
      constraint run_units_held_check check (not held or outcome is null)
    )`.execute(db);
  await sql`create unique index run_units_held_key on run_units (stream_id, member_id) where held`.execute(db);
  await sql`create index run_units_run_idx on run_units (stream_id, run_id)`.execute(db);
  await sql`alter table run_steps add column limit_ms integer check (limit_ms > 0), add column due_at timestamptz`.execute(db);
  await sql`create index run_steps_due_idx on run_steps (due_at) where due_at is not null`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`alter table run_steps drop column limit_ms, drop column due_at`.execute(db);
  await sql`drop table run_units`.execute(db);
}
