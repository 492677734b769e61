import { Injectable } from '@nestjs/common';
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Database } from '../database/database.js';
import type { Tx } from '../database/transactions.js';

export interface KeyAddress {
  readonly scope: string;
  readonly operation: string;
  readonly key: string;
}

export interface StoredRow {
  readonly body_hash: Buffer;
  readonly status: number;
  readonly body: unknown;
}

const LIFE = sql.lit('24 hours');

const lockOf = ({ scope, operation, key }: KeyAddress): RawBuilder<unknown> =>
  sql`hashtextextended(${JSON.stringify([scope, operation, key])}, 0)`;

@Injectable()
export class IdempotencyRepository {
  async find(db: Kysely<Database>, at: KeyAddress): Promise<StoredRow | undefined> {
    return db
      .selectFrom('idempotency_keys')
      .select(['body_hash', 'status', 'body'])
      .where('scope', '=', at.scope)
      .where('operation', '=', at.operation)
      .where('key', '=', at.key)
      .where('created_at', '>', sql<Date>`now() - ${LIFE}::interval`)
      .executeTakeFirst();
  }

  /** Takes the key's lock until the end of the transaction; false when another transaction has it. */
  async tryLock(tx: Tx, at: KeyAddress): Promise<boolean> {
    const { rows } = await sql<{ locked: boolean }>`select pg_try_advisory_xact_lock(${lockOf(at)}) as locked`.execute(tx);
    return rows[0]!.locked;
  }

  /** The same, and waits for whoever has it. */
  async lock(tx: Tx, at: KeyAddress): Promise<void> {
    await sql`select pg_advisory_xact_lock(${lockOf(at)})`.execute(tx);
  }

  /** False when an answer that still counts is already stored. */
  async store(tx: Tx, at: KeyAddress, bodyHash: Buffer, status: number, body: unknown): Promise<boolean> {
    const { rows } = await sql`
      insert into idempotency_keys as k (scope, operation, key, body_hash, status, body)
      values (${at.scope}, ${at.operation}, ${at.key}, ${bodyHash}, ${status}, ${JSON.stringify(body)}::json)
      on conflict (scope, operation, key) do update
        set body_hash = excluded.body_hash, status = excluded.status, body = excluded.body, created_at = now()
        where k.created_at <= now() - ${LIFE}::interval
      returning 1`.execute(tx);
    return rows.length === 1;
  }

  async forget(tx: Tx, at: KeyAddress): Promise<void> {
    await sql`delete from idempotency_keys where scope = ${at.scope} and operation = ${at.operation} and key = ${at.key}`.execute(tx);
  }

  /** Who holds the key now; a hold that has run out does not count. */
  async holder(db: Kysely<Database>, at: KeyAddress): Promise<string | undefined> {
    const row = await db
      .selectFrom('idempotency_holds')
      .select('owner')
      .where('scope', '=', at.scope)
      .where('operation', '=', at.operation)
      .where('key', '=', at.key)
      .where('expires_at', '>', sql<Date>`clock_timestamp()`)
      .executeTakeFirst();
    return row?.owner;
  }

  /** Who held it last, also when that has run out. */
  async lastHolder(db: Kysely<Database>, at: KeyAddress): Promise<string | undefined> {
    const { rows } = await sql<{ owner: string }>`
      select owner from idempotency_holds where scope = ${at.scope} and operation = ${at.operation} and key = ${at.key}`.execute(db);
    return rows[0]?.owner;
  }

  /** What was kept under the key stays where it is of the same request. */
  async hold(tx: Tx, at: KeyAddress, owner: string, bodyHash: Buffer, ms: number): Promise<void> {
    await sql`
      insert into idempotency_holds as h (scope, operation, key, owner, body_hash, expires_at)
      values (${at.scope}, ${at.operation}, ${at.key}, ${owner}, ${bodyHash}, clock_timestamp() + ${ms / 1000} * interval '1 second')
      on conflict (scope, operation, key) do update set owner = excluded.owner, body_hash = excluded.body_hash, expires_at = excluded.expires_at,
        progress = case when h.body_hash = excluded.body_hash and h.expires_at > now() - ${LIFE}::interval then h.progress end`.execute(tx);
  }

  /** Keeps how far its owner has come, and holds the key for so long from now on. False when it is another's. */
  async keep(tx: Tx, at: KeyAddress, owner: string, progress: unknown, ms: number): Promise<boolean> {
    const { rows } = await sql`
      update idempotency_holds
      set progress = ${JSON.stringify(progress)}::json, expires_at = clock_timestamp() + ${ms / 1000} * interval '1 second'
      where scope = ${at.scope} and operation = ${at.operation} and key = ${at.key} and owner = ${owner}
      returning 1`.execute(tx);
    return rows.length === 1;
  }

  async progress(db: Kysely<Database>, at: KeyAddress): Promise<unknown> {
    const { rows } = await sql<{ progress: unknown }>`
      select progress from idempotency_holds where scope = ${at.scope} and operation = ${at.operation} and key = ${at.key}`.execute(db);
    return rows[0]?.progress ?? undefined;
  }

  /** Ends the hold of an owner. Where something was kept its row stays, as one that has run out. */
  async release(tx: Tx, at: KeyAddress, owner: string): Promise<void> {
    await sql`
      with ended as (
        update idempotency_holds set expires_at = clock_timestamp()
        where scope = ${at.scope} and operation = ${at.operation} and key = ${at.key} and owner = ${owner} and progress is not null)
      delete from idempotency_holds
      where scope = ${at.scope} and operation = ${at.operation} and key = ${at.key} and owner = ${owner} and progress is null`.execute(tx);
  }

  /** Ends any hold, with what was kept: there is an answer. */
  async endHold(tx: Tx, at: KeyAddress): Promise<void> {
    await sql`delete from idempotency_holds where scope = ${at.scope} and operation = ${at.operation} and key = ${at.key}`.execute(tx);
  }

  /** Deletes up to `limit` answers whose life is over, and holds that ran out, those with something kept after the same time. Returns how many answers went. */
  async purge(tx: Tx, limit: number): Promise<number> {
    await sql`
      delete from idempotency_holds
      where expires_at < clock_timestamp() - interval '1 hour' and (progress is null or expires_at < now() - ${LIFE}::interval)`.execute(
      tx,
    );
    const { numAffectedRows } = await sql`
      delete from idempotency_keys where ctid = any(array(
        select ctid from idempotency_keys
        where created_at <= now() - ${LIFE}::interval order by created_at limit ${limit} for update skip locked))`.execute(tx);
    return Number(numAffectedRows ?? 0n);
  }
}
