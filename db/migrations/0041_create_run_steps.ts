import { sql, type Kysely } from 'kysely';

/**
 * The steps of runs that have something to decide: attempts, rounds, items, scopes. A step is kept as its formula made it, with
 * the control that added it and in which round; a check, what its script said last.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table run_steps (
      stream_id integer not null,
      bead_id text collate "C" not null,
      run_id text collate "C" not null,
      step jsonb not null,
      made_by text collate "C",
      round integer,
      verdict jsonb,
      constraint run_steps_pkey primary key (stream_id, bead_id),
      constraint run_steps_bead_fkey foreign key (stream_id, bead_id) references beads (stream_id, id) on delete cascade,
      constraint run_steps_check check ((made_by is null) = (round is null))
    )`.execute(db);
  await sql`create index run_steps_run_idx on run_steps (stream_id, run_id)`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop table run_steps`.execute(db);
}
