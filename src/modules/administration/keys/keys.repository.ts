import { Injectable } from '@nestjs/common';
import { sql, type Insertable, type Kysely, type Selectable } from 'kysely';
import type { Database } from '../../../platform/database/database.js';
import { fitted, fitting, wholePage, type Fitted } from '../../../platform/database/page-bytes.js';
import type { Tx } from '../../../platform/database/transactions.js';

export type KeyRow = Selectable<Database['api_keys']>;
export type NewKeyRow = Pick<Insertable<Database['api_keys']>, 'id' | 'name' | 'hash' | 'scope' | 'rights' | 'cities' | 'expires_at'>;

/** Serialises the processes that all start for the first time. */
const BOOTSTRAP_LOCK = 7_204_001;

@Injectable()
export class KeysRepository {
  insert(tx: Tx, key: NewKeyRow): Promise<KeyRow> {
    return tx.insertInto('api_keys').values(key).returningAll().executeTakeFirstOrThrow();
  }

  /** A page of the keys that are not revoked, oldest first, from behind the key `after` on, and how many there are. */
  async list(
    db: Kysely<Database>,
    limit: number,
    after: string | undefined,
  ): Promise<{ rows: readonly KeyRow[]; more: boolean; total: number }> {
    const behind = after === undefined ? sql`` : sql`and (created_at, id) > (select created_at, id from api_keys where id = ${after})`;
    const some = sql`
      select *, 500 + octet_length(name) + coalesce(octet_length(array_to_string(cities, '   ')), 0) as bytes
      from api_keys where revoked_at is null ${behind} order by created_at, id limit ${limit + 1}`;
    const { rows } = await sql<
      KeyRow & Fitted
    >`${fitting(some, sql`created_at, id`, wholePage(limit))} order by f.created_at, f.id`.execute(db);
    const { rows: counted } = await sql<{ n: number }>`select count(*) as n from api_keys where revoked_at is null`.execute(db);
    return { ...fitted(rows), total: counted[0]!.n };
  }

  /** Also of keys that are revoked by now: a list goes on behind them. */
  async isKnown(db: Kysely<Database>, id: string): Promise<boolean> {
    return (await db.selectFrom('api_keys').select('id').where('id', '=', id).executeTakeFirst()) !== undefined;
  }

  find(db: Kysely<Database>, ids: readonly string[]): Promise<KeyRow[]> {
    return db
      .selectFrom('api_keys')
      .selectAll()
      .where('id', '=', sql<string>`any(${[...ids]}::text[])`)
      .where('revoked_at', 'is', null)
      .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', sql<Date>`now()`)]))
      .execute();
  }

  /** The key of this id or name that is not revoked, whether it has ended or not. */
  async held(db: Kysely<Database>, by: 'id' | 'name', value: string): Promise<{ id: string; ended: Date | undefined } | undefined> {
    const row = await db
      .selectFrom('api_keys')
      .select(['id', 'expires_at', (eb) => eb('expires_at', '<=', sql<Date>`now()`).as('has_ended')])
      .where(by, '=', value)
      .where('revoked_at', 'is', null)
      .executeTakeFirst();
    return row === undefined ? undefined : { id: row.id, ended: row.has_ended ? (row.expires_at ?? undefined) : undefined };
  }

  /**
   * Gives a valid key a new secret. The secret before it is good for `graceS` seconds more, and the one before that for the rest of its own time: so a repetition
   * after a lost answer ends no secret that is in use. Without a grace time all earlier secrets end.
   * Undefined when there is no such key.
   */
  rotate(tx: Tx, id: string, hash: Buffer, graceS: number): Promise<KeyRow | undefined> {
    return tx
      .updateTable('api_keys')
      .set((eb) =>
        graceS === 0
          ? { hash, previous_hash: null, previous_until: null, earlier_hash: null, earlier_until: null }
          : {
              hash,
              previous_hash: eb.ref('hash'),
              previous_until: sql<Date>`now() + make_interval(secs => ${graceS})`,
              earlier_hash: sql<Buffer | null>`case when previous_until > now() then previous_hash
                when previous_hash is not null then earlier_hash end`,
              earlier_until: sql<Date | null>`case when previous_until > now() then previous_until
                when previous_hash is not null then earlier_until end`,
            },
      )
      .where('id', '=', id)
      .where('revoked_at', 'is', null)
      .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', sql<Date>`now()`)]))
      .returningAll()
      .executeTakeFirst();
  }

  /** False when there is no such key or it is revoked already. */
  async revoke(tx: Tx, id: string): Promise<boolean> {
    const result = await tx
      .updateTable('api_keys')
      .set({ revoked_at: sql<Date>`now()` })
      .where('id', '=', id)
      .where('revoked_at', 'is', null)
      .executeTakeFirst();
    return result.numUpdatedRows > 0n;
  }

  /** Notes a use, at most once a minute a key. One statement outside any transaction: nothing depends on it. */
  async used(db: Kysely<Database>, id: string): Promise<void> {
    await db
      .updateTable('api_keys')
      .set({ last_used_at: sql<Date>`now()` })
      .where('id', '=', id)
      .where((eb) => eb.or([eb('last_used_at', 'is', null), eb('last_used_at', '<', sql<Date>`now() - interval '1 minute'`)]))
      .execute();
  }

  /** True when some key may do everything. */
  async hasAdministrator(db: Kysely<Database>): Promise<boolean> {
    const row = await db
      .selectFrom('api_keys')
      .select('id')
      .where('revoked_at', 'is', null)
      .where('scope', '=', 'write')
      .where('cities', 'is', null)
      .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', sql<Date>`now()`)]))
      .limit(1)
      .executeTakeFirst();
    return row !== undefined;
  }

  async lockBootstrap(tx: Tx): Promise<void> {
    await sql`select pg_advisory_xact_lock(${BOOTSTRAP_LOCK}::bigint)`.execute(tx);
  }
}
