import { sql, type Kysely } from 'kysely';

/** Broadcasts to many that are being sent: to whom, and to how many of them they were. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table mail_broadcasts (
      stream_id integer not null references event_streams (id),
      request_id text collate "C" not null,
      message jsonb not null,
      principals text[] not null,
      shown text[] not null,
      sent integer not null default 0,
      primary key (stream_id, request_id)
    ) with (fillfactor = 50)`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop table mail_broadcasts`.execute(db);
}
