import { sql, type Kysely } from 'kysely';

/**
 * Who did what with which key. A record shares the transaction of the change that it tells of, so nothing may be locked for it that
 * others need: there is no counter row, and hence no number that is known before the commit. `xid` is the transaction that wrote the
 * record. Whoever reads forward in the order of (xid, id) and stops below the oldest transaction that is still open misses none.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table audit_records (
      xid bigint not null default (pg_current_xact_id()::text::bigint),
      id bigint not null generated always as identity,
      at timestamptz not null default clock_timestamp(),
      last_at timestamptz,
      count integer not null default 1,
      request_id text,
      key_id text,
      actor text,
      session_id text,
      session_city text,
      address text,
      operation text,
      method text,
      path text,
      city text,
      ids jsonb not null default '{}',
      status smallint not null,
      code text,
      reason text,
      operation_request_id text,
      constraint audit_records_pkey primary key (xid, id),
      constraint audit_records_count_check check (count > 0)
    )`.execute(db);
  await sql`create unique index audit_records_request_id_key on audit_records (request_id) where request_id is not null`.execute(db);
  await sql`
    create index audit_records_operation_request_id_idx on audit_records (operation_request_id) where operation_request_id is not null`.execute(
    db,
  );
  await sql`create index audit_records_at_id_idx on audit_records (at, id)`.execute(db);
  await sql`create index audit_records_city_at_id_idx on audit_records (city, at, id) where city is not null`.execute(db);
  await sql`create index audit_records_key_id_at_id_idx on audit_records (key_id, at, id) where key_id is not null`.execute(db);
  await sql`alter table api_keys drop constraint api_keys_rights_check`.execute(db);
  await sql`
    alter table api_keys add constraint api_keys_rights_check check (rights <@ array['operate', 'configure', 'commands', 'audit'])`.execute(
    db,
  );
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`alter table api_keys drop constraint api_keys_rights_check`.execute(db);
  await sql`update api_keys set rights = array_remove(rights, 'audit')`.execute(db);
  await sql`
    alter table api_keys add constraint api_keys_rights_check check (rights <@ array['operate', 'configure', 'commands'])`.execute(db);
  await sql`drop table audit_records`.execute(db);
}
