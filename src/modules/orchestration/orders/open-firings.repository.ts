import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Tx } from '../../../platform/database/transactions.js';
import type { FiringRow } from './order-rows.js';

/** SQL of what is open of an order, for whoever has it fired and has locked its row. */
@Injectable()
export class OpenFiringsRepository {
  /** The one of its firings that is open and keeps others away. */
  async find(tx: Tx, streamId: number, scopedName: string): Promise<Pick<FiringRow, 'id' | 'state'> | undefined> {
    const { rows } = await sql<Pick<FiringRow, 'id' | 'state'>>`
      select id, state from order_firings where stream_id = ${streamId} and scoped_name = ${scopedName} and state <> 'done' and not forced`.execute(
      tx,
    );
    return rows[0];
  }

  /** How many of its firings are open, forced ones among them, up to so many. */
  async count(tx: Tx, streamId: number, scopedName: string, most: number): Promise<number> {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from (
        select from order_firings where stream_id = ${streamId} and scoped_name = ${scopedName} and state <> 'done' limit ${most}) o`.execute(
      tx,
    );
    return rows[0]!.count;
  }

  /** Nobody has begun to look at its condition, and nobody has to: it is fired without. */
  async dropUnbegunCheck(tx: Tx, streamId: number, scopedName: string): Promise<void> {
    await sql`
      delete from order_firings
      where stream_id = ${streamId} and scoped_name = ${scopedName} and state = 'checking' and worker is null and not forced`.execute(tx);
  }
}
