import { sql, type Kysely } from 'kysely';

/**
 * What has been received by webhooks and counts: each delivery once, and those that wait until the firing of their order that is open
 * has ended.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table webhook_deliveries (
      pk bigint generated always as identity primary key,
      stream_id integer not null references event_streams (id),
      hook text collate "C" not null,
      delivery text collate "C" not null,
      scoped_name text collate "C" not null,
      firing_id text collate "C" not null,
      vars jsonb not null,
      waiting boolean not null,
      received_at timestamptz not null,
      expires_at timestamptz not null,
      constraint webhook_deliveries_once_key unique (stream_id, hook, delivery)
    ) with (fillfactor = 80)`.execute(db);
  await sql`create index webhook_deliveries_waiting_idx on webhook_deliveries (stream_id, scoped_name, pk) where waiting`.execute(db);
  await sql`create index webhook_deliveries_expiry_idx on webhook_deliveries (expires_at) where not waiting`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop table webhook_deliveries`.execute(db);
}
