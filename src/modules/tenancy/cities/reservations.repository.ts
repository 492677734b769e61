import { Injectable } from '@nestjs/common';
import { sql, type Kysely } from 'kysely';
import type { Database } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';

export interface Reservation {
  readonly dir: string;
  readonly name: string;
  readonly requestId: string;
  readonly scaffold: unknown;
}

/**
 * Directories that a create is writing to right now. Whoever holds the row may touch the directory: the creator
 * until its final transaction deletes it, afterwards (expired) the sweeper that took it over.
 */
@Injectable()
export class ReservationsRepository {
  async insert(tx: Tx, reservation: Reservation, owner: string, seconds: number): Promise<void> {
    await tx
      .insertInto('city_reservations')
      .values({
        dir: reservation.dir,
        name: reservation.name,
        request_id: reservation.requestId,
        process_id: owner,
        scaffold: JSON.stringify(reservation.scaffold),
        expires_at: sql<Date>`now() + ${seconds} * interval '1 second'`,
      })
      .execute();
  }

  /** The directories of what reserves the name or the directory: two at most. */
  async dirsOfEither(db: Kysely<Database>, name: string, dir: string): Promise<string[]> {
    const rows = await db
      .selectFrom('city_reservations')
      .select('dir')
      .where((eb) => eb.or([eb('name', '=', name), eb('dir', '=', dir)]))
      .execute();
    return rows.map((row) => row.dir);
  }

  async has(db: Kysely<Database>, requestId: string): Promise<boolean> {
    return (await db.selectFrom('city_reservations').select('dir').where('request_id', '=', requestId).executeTakeFirst()) !== undefined;
  }

  /** Whether a city has the directory: a replica of the release before registers also what is reserved. */
  async isCity(db: Kysely<Database>, dir: string): Promise<boolean> {
    return (await db.selectFrom('cities').select('id').where('dir', '=', dir).executeTakeFirst()) !== undefined;
  }

  /** Whether the create behind a reservation was committed: its operation is written with it. */
  async wasCommitted(db: Kysely<Database>, requestId: string): Promise<boolean> {
    return (await db.selectFrom('operations').select('id').where('id', '=', requestId).executeTakeFirst()) !== undefined;
  }

  /** Ends a reservation; false when this owner does not hold it any more. */
  async delete(tx: Tx, requestId: string, owner: string): Promise<boolean> {
    const result = await tx
      .deleteFrom('city_reservations')
      .where('request_id', '=', requestId)
      .where('process_id', '=', owner)
      .executeTakeFirst();
    return result.numDeletedRows === 1n;
  }

  /** Whether this owner still holds it; then it is kept for `seconds` more. */
  async extend(tx: Tx, requestId: string, owner: string, seconds: number): Promise<boolean> {
    const { numAffectedRows } = await sql`
      update city_reservations set expires_at = now() + ${seconds} * interval '1 second'
      where request_id = ${requestId} and process_id = ${owner}`.execute(tx);
    return numAffectedRows === 1n;
  }

  /** Whether the time of a reservation is over. */
  readonly isDue = sql<boolean>`(select expires_at < now() from city_reservations order by expires_at limit 1)`;

  /** Takes over up to `limit` reservations whose creators did not end them in time. */
  async takeExpired(tx: Tx, owner: string, seconds: number, limit: number): Promise<Reservation[]> {
    const { rows } = await sql<Reservation>`
      update city_reservations set process_id = ${owner}, expires_at = now() + ${seconds} * interval '1 second'
      where dir in (
        select dir from city_reservations where expires_at < now() order by expires_at limit ${limit} for update skip locked
      )
      returning dir, name, request_id as "requestId", scaffold`.execute(tx);
    return rows;
  }
}
