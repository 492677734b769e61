import { sql, type Kysely } from 'kysely';

/**
 * Adapters that have no address: they take what is published from a stream. A connection is a stream that is open at some replica; a
 * publication is a client's while its `claim` holds, which ends by `lease_until` and is kept when it has ended, so that an answer that
 * comes twice is known.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    alter table extmsg_adapters add column transport text not null default 'callback'
      constraint extmsg_adapters_transport_check check (transport in ('callback', 'stream'))`.execute(db);
  await sql`
    create table extmsg_connections (
      id text collate "C" primary key,
      adapter_pk bigint not null references extmsg_adapters (pk) on delete cascade,
      opened_at timestamptz not null default clock_timestamp(),
      lease_until timestamptz not null,
      missed smallint not null default 0
    ) with (fillfactor = 50)`.execute(db);
  await sql`create index extmsg_connections_adapter_idx on extmsg_connections (adapter_pk)`.execute(db);
  await sql`alter table extmsg_deliveries add column claim text collate "C"`.execute(db);
  await sql`create index extmsg_deliveries_worker_idx on extmsg_deliveries (worker) where state = 'pending' and worker is not null`.execute(
    db,
  );
  await sql`create index extmsg_conversations_account_idx on extmsg_conversations (stream_id, provider, account_id)`.execute(db);
}

export async function down(db: Kysely<unknown>): Promise<void> {
  await sql`drop index extmsg_conversations_account_idx`.execute(db);
  await sql`drop index extmsg_deliveries_worker_idx`.execute(db);
  await sql`alter table extmsg_deliveries drop column claim`.execute(db);
  await sql`drop table extmsg_connections`.execute(db);
  await sql`alter table extmsg_adapters drop column transport`.execute(db);
}
