import { sql, type Kysely } from 'kysely';

/** Runs that had more to decide by themselves than one transaction does: they go on in the next one, a while later, and know how many rounds each control has begun. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table run_continuations (
      stream_id integer not null,
      run_id text collate "C" not null,
      due_at timestamptz not null,
      begun jsonb not null default '{}',
      primary key (stream_id, run_id),
      foreign key (stream_id, run_id) references beads (stream_id, id) on delete cascade
    )`.execute(db);
  await sql`alter table run_continuations alter column stream_id set (n_distinct = 100)`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop table run_continuations`.execute(db);
}
