import { sql, type Kysely } from 'kysely';

/** Texts of files that requests ask for, of the revision that a city runs: whoever answers has no disk to read. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table config_texts (
      stream_id integer not null references event_streams (id),
      sha256 text not null,
      text text not null,
      constraint config_texts_pkey primary key (stream_id, sha256)
    )`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop table config_texts`.execute(db);
}
