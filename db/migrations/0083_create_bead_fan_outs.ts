import { sql, type Kysely } from 'kysely';

/** Beads whose dependents are being told, some at a time, that they were closed or opened again: how far that has come. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table bead_fan_outs (
      stream_id integer not null,
      bead_id text collate "C" not null,
      after_type text not null default '',
      after_id text collate "C" not null default '',
      told integer not null default 0,
      changed integer not null default 0,
      begun_at timestamptz not null default clock_timestamp(),
      holder text,
      held_until timestamptz,
      primary key (stream_id, bead_id),
      foreign key (stream_id, bead_id) references beads (stream_id, id) on delete cascade
    ) with (fillfactor = 50)`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop table bead_fan_outs`.execute(db);
}
