import { sql, type Kysely } from 'kysely';

/**
 * Workers take operations and sessions city by city: who waits is found by city. What lost its worker and what is past its
 * deadline are found apart: each of these looks read all unfinished operations before, also the messages that no worker runs.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create index operations_waiting_idx on operations ((case when stream = '__supervisor__' then target else stream end), run_after)
      where state = 'accepted' and run_after < 'infinity'`.execute(db);
  await sql`create index operations_running_idx on operations (lease_until) where state = 'running'`.execute(db);
  await sql`create index operations_deadline_at_idx on operations (deadline_at) where state in ('accepted', 'running')`.execute(db);
  await sql`drop index operations_unfinished_idx`.execute(db);
  await sql`
    create index sessions_wanted_by_city_idx on sessions (stream_id, coalesce(wake_requested_at, '-infinity'), pk)
      where wake_request is not null and runner_id is null and state in ('start-pending', 'asleep')`.execute(db);
  await sql`drop index sessions_wanted_idx`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`
    create index sessions_wanted_idx on sessions (wake_requested_at)
      where wake_request is not null and runner_id is null and state in ('start-pending', 'asleep')`.execute(db);
  await sql`drop index sessions_wanted_by_city_idx`.execute(db);
  await sql`create index operations_unfinished_idx on operations (run_after) where state in ('accepted', 'running')`.execute(db);
  await sql`drop index operations_deadline_at_idx, operations_running_idx, operations_waiting_idx`.execute(db);
}
