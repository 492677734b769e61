import { sql, type Kysely } from 'kysely';

/** What the files of a city say of how long archived mail and the history of orders are kept. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table mail_cities (
      stream_id integer not null constraint mail_cities_pkey primary key constraint mail_cities_stream_id_fkey references event_streams (id),
      revision bigint not null default 0,
      archive_ms bigint
    ) with (fillfactor = 50)`.execute(db);
  await sql`alter table order_cities add column history_ms bigint`.execute(db);
  // Its files are read again.
  await sql`update order_cities set revision = 0`.execute(db);
  await sql`create index messages_archived_idx on messages (stream_id, archived_at) where archived_at is not null`.execute(db);
  await sql`drop index messages_archived_at_idx`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`create index messages_archived_at_idx on messages (archived_at) where archived_at is not null`.execute(db);
  await sql`drop index messages_archived_idx`.execute(db);
  await sql`alter table order_cities drop column history_ms`.execute(db);
  await sql`drop table mail_cities`.execute(db);
}
