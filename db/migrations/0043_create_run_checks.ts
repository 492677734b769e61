import { sql, type Kysely } from 'kysely';

/** Scripts of checks that wait or run: one a check at a time, with the lease of the worker that runs it. Gone with its verdict. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table run_checks (
      pk bigint generated always as identity primary key,
      stream_id integer not null,
      bead_id text collate "C" not null,
      run_id text collate "C" not null,
      round integer not null,
      worker text,
      lease_until timestamptz,
      attempts integer not null default 0,
      constraint run_checks_bead_key unique (stream_id, bead_id),
      constraint run_checks_step_fkey foreign key (stream_id, bead_id) references run_steps (stream_id, bead_id) on delete cascade,
      constraint run_checks_lease_check check ((worker is null) = (lease_until is null))
    ) with (fillfactor = 70)`.execute(db);
  await sql`create index run_checks_run_idx on run_checks (stream_id, run_id)`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop table run_checks`.execute(db);
}
