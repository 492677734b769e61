import { sql, type Kysely } from 'kysely';

/**
 * How far the conversations that a city has forgotten had come. One that comes again goes on above that: whoever has read a conversation up to a
 * sequence misses nothing of it.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table extmsg_forgotten (
      stream_id integer primary key references event_streams (id),
      head bigint not null,
      generation bigint not null
    )`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop table extmsg_forgotten`.execute(db);
}
