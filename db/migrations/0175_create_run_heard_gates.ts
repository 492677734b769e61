import { sql, type Kysely } from 'kysely';

/** Gates whose message has come, and that are opened some at a time: any number may wait for one sender. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table run_heard_gates (
      stream_id integer not null,
      bead_id text collate "C" not null,
      heard_at timestamptz not null,
      primary key (stream_id, bead_id),
      foreign key (stream_id, bead_id) references beads (stream_id, id) on delete cascade
    )`.execute(db);
  await sql`create index run_heard_gates_heard_idx on run_heard_gates (heard_at)`.execute(db);
  await sql`alter table run_heard_gates alter column stream_id set (n_distinct = 100)`.execute(db);
}

/** What is not opened yet opens with the next message of its sender, or by a person. */
export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop table run_heard_gates`.execute(db);
}
