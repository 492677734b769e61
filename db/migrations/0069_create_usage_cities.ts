import { sql, type Kysely } from 'kysely';

/** What cities say about counting what is used: in a table, so that many cities are counted in one statement. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table usage_cities (
      stream_id integer primary key references event_streams (id),
      revision bigint not null default 0,
      zone text not null default 'UTC',
      recorded boolean not null default true,
      prices jsonb not null default '[]'
    ) with (fillfactor = 50)`.execute(db);
  await sql`
    create or replace function known_zone(p_zone text) returns text language plpgsql stable as $$
    begin
      perform now() at time zone p_zone;
      return p_zone;
    exception when invalid_parameter_value then
      return 'UTC';
    end
    $$`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop function known_zone(text)`.execute(db);
  await sql`drop table usage_cities`.execute(db);
}
