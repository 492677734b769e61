import { Injectable } from '@nestjs/common';
import { sql, type Insertable, type Kysely, type Selectable } from 'kysely';
import type { Database } from '../../platform/database/database.js';
import type { Tx } from '../../platform/database/transactions.js';

export type KeyRow = Selectable<Database['api_keys']>;
export type NewKeyRow = Pick<Insertable<Database['api_keys']>, 'id' | 'name' | 'hash' | 'scope' | 'rights' | 'cities' | 'expires_at'>;

/** Serialises the processes that all start for the first time. */
const BOOTSTRAP_LOCK = 7_204_001;

@Injectable()
export class KeysRepository {
  insert(tx: Tx, key: NewKeyRow): Promise<KeyRow> {
    return tx.insertInto('api_keys').values(key).returningAll().executeTakeFirstOrThrow();
  }

  /** Keys that are not revoked, oldest first. */
  list(db: Kysely<Database>): Promise<KeyRow[]> {
    return db.selectFrom('api_keys').selectAll().where('revoked_at', 'is', null).orderBy('created_at').orderBy('id').execute();
  }

  find(db: Kysely<Database>, id: string): Promise<KeyRow | undefined> {
    return db
      .selectFrom('api_keys')
      .selectAll()
      .where('id', '=', id)
      .where('revoked_at', 'is', null)
      .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', sql<Date>`now()`)]))
      .executeTakeFirst();
  }

  /** Gives a key that works a new secret; the one before is good for `graceS` seconds more. Undefined when there is no such key. */
  rotate(tx: Tx, id: string, hash: Buffer, graceS: number): Promise<KeyRow | undefined> {
    return tx
      .updateTable('api_keys')
      .set((eb) => ({
        hash,
        previous_hash: graceS === 0 ? null : eb.ref('hash'),
        previous_until: graceS === 0 ? null : sql<Date>`now() + make_interval(secs => ${graceS})`,
      }))
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
