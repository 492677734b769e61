import { Injectable } from '@nestjs/common';
import { sql, type Kysely } from 'kysely';
import type { Database } from '../../../../platform/database/database.js';
import type { Tx } from '../../../../platform/database/transactions.js';
import type { KeyAddress } from '../../../../platform/idempotency/idempotency.repository.js';
import type { AdapterCapabilities, AdapterTransport } from './adapters.schemas.js';

/** Who calls with the token of which this is the hash. */
export interface AdapterCaller {
  readonly pk: number;
  readonly hash: Buffer;
  /** Of its secret. */
  readonly version: number;
  readonly provider: string;
  readonly account_id: string;
  readonly city: string;
}

export interface AdapterRow {
  readonly pk: number;
  readonly provider: string;
  readonly account_id: string;
  readonly name: string;
  /** '' for none. */
  readonly callback_url: string;
  readonly transport: AdapterTransport;
  readonly capabilities: AdapterCapabilities | null;
  readonly secret_version: number;
  readonly registered_at: Date;
  readonly last_seen_at: Date;
  readonly lease_until: Date | null;
  /** Its lease has run out. */
  readonly stale: boolean;
  /** Calls that failed since the last that did not. */
  readonly failures: number;
  readonly last_error: string | null;
  readonly used_keys: readonly KeyAddress[];
  /** Streams that are open for it, at any replica. */
  readonly connections: number;
}

export interface Registration {
  readonly provider: string;
  readonly accountId: string;
  readonly name: string;
  readonly callbackUrl: string;
  readonly transport: AdapterTransport;
  readonly capabilities: AdapterCapabilities | undefined;
  readonly leaseS: number | undefined;
}

/** Keys under which an adapter was registered that are remembered. */
const KEYS = 8;
const ROW = sql`a.pk, a.provider, a.account_id, a.name, a.callback_url, a.transport, a.capabilities, a.secret_version, a.registered_at, a.last_seen_at,
  a.last_seen_at + a.lease_s * interval '1 second' as lease_until,
  coalesce(a.last_seen_at + a.lease_s * interval '1 second' < clock_timestamp(), false) as stale, a.failures, a.last_error, a.used_keys,
  (select count(*)::int from extmsg_connections k where k.adapter_pk = a.pk and k.lease_until > clock_timestamp()) as connections`;

/** SQL of adapters. */
@Injectable()
export class AdaptersRepository {
  async deploymentSecret(db: Kysely<Database>): Promise<Buffer> {
    const { rows } = await sql<{ secret: Buffer }>`select secret from deployment`.execute(db);
    return rows[0]!.secret;
  }

  async find(db: Kysely<Database>, streamId: number, provider: string, accountId: string): Promise<AdapterRow | undefined> {
    const { rows } = await sql<AdapterRow>`
      select ${ROW} from extmsg_adapters a where a.stream_id = ${streamId} and a.provider = ${provider} and a.account_id = ${accountId}`.execute(
      db,
    );
    return rows[0];
  }

  /** Whether there is one of any account of a provider. */
  async speaksFor(db: Kysely<Database>, streamId: number, provider: string): Promise<boolean> {
    const { rows } = await sql`select 1 from extmsg_adapters where stream_id = ${streamId} and provider = ${provider} limit 1`.execute(db);
    return rows.length === 1;
  }

  /** Makes it or finds it, locked until the commit. */
  async ensure(tx: Tx, streamId: number, { provider, accountId, name }: Registration): Promise<{ row: AdapterRow; created: boolean }> {
    const { rows } = await sql<AdapterRow & { created: boolean }>`
      insert into extmsg_adapters as a (stream_id, provider, account_id, name, callback_url, token_hash)
      values (${streamId}, ${provider}, ${accountId}, ${name}, '', '')
      on conflict (stream_id, provider, account_id) do update set provider = a.provider
      returning ${ROW}, a.token_hash = ''::bytea as created`.execute(tx);
    return { row: rows[0]!, created: rows[0]!.created };
  }

  async update(tx: Tx, pk: number, { name, callbackUrl, transport, capabilities, leaseS }: Registration): Promise<void> {
    await sql`
      update extmsg_adapters set name = ${name}, callback_url = ${callbackUrl}, transport = ${transport}, lease_s = ${leaseS ?? null}, last_seen_at = clock_timestamp(),
        capabilities = ${capabilities === undefined ? null : JSON.stringify(capabilities)}::jsonb,
        failures = case when callback_url = ${callbackUrl} then failures else 0 end,
        last_error = case when callback_url = ${callbackUrl} then last_error end
      where pk = ${pk}`.execute(tx);
  }

  async setToken(tx: Tx, pk: number, version: number, tokenHash: Buffer): Promise<void> {
    await sql`update extmsg_adapters set secret_version = ${version}, token_hash = ${tokenHash} where pk = ${pk}`.execute(tx);
  }

  async rememberKey(tx: Tx, row: AdapterRow, key: KeyAddress): Promise<void> {
    const keys = [...row.used_keys, { scope: key.scope, operation: key.operation, key: key.key }].slice(-KEYS);
    await sql`update extmsg_adapters set used_keys = ${JSON.stringify(keys)}::jsonb where pk = ${row.pk}`.execute(tx);
  }

  async remove(tx: Tx, streamId: number, provider: string, accountId: string): Promise<AdapterRow | undefined> {
    const { rows } = await sql<AdapterRow>`
      delete from extmsg_adapters a where a.stream_id = ${streamId} and a.provider = ${provider} and a.account_id = ${accountId} returning ${ROW}`.execute(
      tx,
    );
    return rows[0];
  }

  /** By provider, then account. */
  async list(db: Kysely<Database>, streamId: number, only: { provider: string; accountId: string } | undefined): Promise<AdapterRow[]> {
    const { rows } = await sql<AdapterRow>`
      select ${ROW} from extmsg_adapters a where a.stream_id = ${streamId}
        and (${only === undefined} or (a.provider = ${only?.provider ?? ''} and a.account_id = ${only?.accountId ?? ''}))
      order by a.provider, a.account_id`.execute(db);
    return rows;
  }

  async count(db: Kysely<Database>, streamId: number): Promise<number> {
    const { rows } = await sql<{ count: number }>`select count(*)::int as count from extmsg_adapters where stream_id = ${streamId}`.execute(
      db,
    );
    return rows[0]!.count;
  }

  /** What came of calling it. */
  async called(tx: Tx, pk: number, error: string | undefined): Promise<void> {
    await sql`
      update extmsg_adapters set failures = case when ${error ?? null}::text is null then 0 else failures + 1 end, last_error = ${error ?? null},
        last_ok_at = case when ${error ?? null}::text is null then clock_timestamp() else last_ok_at end
      where pk = ${pk}`.execute(tx);
  }

  /** Those that have tokens, each with its hash and its city. */
  async callers(db: Kysely<Database>, pks: readonly number[]): Promise<AdapterCaller[]> {
    const { rows } = await sql<AdapterCaller>`
      select a.pk, a.hash, a.version, a.provider, a.account_id, e.name as city
      from unnest((select ${[...pks]}::bigint[])) as asked(pk)
      cross join lateral (
        select a.pk, a.token_hash as hash, a.secret_version as version, a.provider, a.account_id, a.stream_id from extmsg_adapters a
        where a.pk = asked.pk and a.token_hash <> '' limit 1) a
      cross join lateral (select e.name from event_streams e where e.id = a.stream_id limit 1) e`.execute(db);
    return rows;
  }
}
