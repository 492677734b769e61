import { sql, type Kysely } from 'kysely';

/**
 * Who creates beads with other cities has the event stream last, as everybody else. The number of a session is one of the work's, and its
 * transaction waits for the stream with it: who had the stream already and waited for the numbers was in a circle with it.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function try_work(p_stream integer) returns boolean language sql as $$
      select pg_try_advisory_xact_lock(2, p_stream) and set_config('lock_timeout', '100', true) is not null
    $$`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function try_work(p_stream integer) returns boolean language sql as $$
      select pg_try_advisory_xact_lock(2, p_stream) and pg_try_advisory_xact_lock(1, p_stream)
    $$`.execute(db);
}
