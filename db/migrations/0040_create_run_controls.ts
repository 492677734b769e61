import { sql, type Kysely } from 'kysely';

/** What a run does about some of its steps beside waiting for them, and when it looks at them next. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table run_controls (
      stream_id integer not null,
      bead_id text collate "C" not null,
      run_id text collate "C" not null,
      control jsonb not null,
      due_at timestamptz,
      constraint run_controls_pkey primary key (stream_id, bead_id),
      constraint run_controls_bead_fkey foreign key (stream_id, bead_id) references beads (stream_id, id) on delete cascade
    )`.execute(db);
  await sql`create index run_controls_run_idx on run_controls (stream_id, run_id)`.execute(db);
  await sql`create index run_controls_due_idx on run_controls (due_at) where due_at is not null`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop table run_controls`.execute(db);
}
