import { sql, type Kysely } from 'kysely';

/**
 * Rigs that are being cloned, and what became of earlier requests for one. The id is the client's: a repeat of the request
 * finds its row. While a row is in flight nobody else gets its name. `manifest` is what the worker is about to make on
 * disk, written before it makes anything; `made` is set in the transaction that puts the rig into the configuration;
 * `leftovers` says that something of a failed request may still lie on disk.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table rig_provisions (
      stream_id integer not null references event_streams (id),
      request_id text collate "C" not null,
      name text collate "C" not null,
      digest text not null,
      state text not null check (state in ('in_flight', 'succeeded', 'rolled_back')),
      operation_id text collate "C" not null,
      event_cursor text not null,
      dir text not null,
      manifest jsonb,
      made boolean not null default false,
      leftovers boolean not null default false,
      prefix text,
      default_branch text,
      updated_at timestamptz not null default now(),
      primary key (stream_id, request_id)
    )`.execute(db);
  await sql`create unique index rig_provisions_name_key on rig_provisions (stream_id, name) where state = 'in_flight'`.execute(db);
  await sql`create unique index rig_provisions_operation_id_key on rig_provisions (operation_id)`.execute(db);
  await sql`create index rig_provisions_leftovers_idx on rig_provisions (updated_at) where leftovers`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop table rig_provisions`.execute(db);
}
