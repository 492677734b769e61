import { sql, type Kysely } from 'kysely';

/** Runs that had more to decide by themselves than one transaction does: they go on in the next one. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table run_continuations (
      stream_id integer not null,
      run_id text collate "C" not null,
      asked_at timestamptz not null default clock_timestamp(),
      primary key (stream_id, run_id),
      foreign key (stream_id, run_id) references beads (stream_id, id) on delete cascade
    )`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop table run_continuations`.execute(db);
}
