import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../../platform/database/database.js';
import type { Tx } from '../../../../platform/database/transactions.js';

export interface NewDelivery {
  readonly hook: string;
  /** What tells it from others of the hook: one of several things, where it counts by several. */
  readonly delivery: string;
  readonly scopedName: string;
  readonly firingId: string;
  readonly vars: Readonly<Record<string, string>>;
  readonly keptMs: number;
}

export interface WaitingDelivery {
  readonly pk: number;
  readonly hook: string;
  readonly firing_id: string;
  readonly vars: Readonly<Record<string, string>>;
}

/** SQL of what webhooks have received. Whoever has it fire an order, or wait for one, locks the order's row before. */
@Injectable()
export class DeliveriesRepository {
  constructor(private readonly db: Db) {}

  /** False for what was received before: who asks at the same time is waited for. */
  async take(tx: Tx, streamId: number, { hook, delivery, scopedName, firingId, vars, keptMs }: NewDelivery): Promise<boolean> {
    const { rows } = await sql`
      insert into webhook_deliveries as d (stream_id, hook, delivery, scoped_name, firing_id, vars, waiting, received_at, expires_at)
      values (${streamId}, ${hook}, ${delivery}, ${scopedName}, ${firingId}, ${JSON.stringify(vars)}::jsonb, false, now(),
        now() + ${keptMs} * interval '1 millisecond')
      on conflict (stream_id, hook, delivery) do update set scoped_name = excluded.scoped_name, firing_id = excluded.firing_id,
        vars = excluded.vars, received_at = excluded.received_at, expires_at = excluded.expires_at
      where d.expires_at < now() and not d.waiting returning 1`.execute(tx);
    return rows.length > 0;
  }

  async wait(tx: Tx, streamId: number, hook: string, delivery: string): Promise<void> {
    await sql`
      update webhook_deliveries set waiting = true where stream_id = ${streamId} and hook = ${hook} and delivery = ${delivery}`.execute(tx);
  }

  async countWaiting(tx: Tx, streamId: number, scopedName: string): Promise<number> {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from webhook_deliveries where stream_id = ${streamId} and scoped_name = ${scopedName} and waiting`.execute(
      tx,
    );
    return rows[0]!.count;
  }

  /** The one that has waited longest. */
  async next(tx: Tx, streamId: number, scopedName: string): Promise<WaitingDelivery | undefined> {
    const { rows } = await sql<WaitingDelivery>`
      select pk, hook, firing_id, vars from webhook_deliveries
      where stream_id = ${streamId} and scoped_name = ${scopedName} and waiting order by pk limit 1`.execute(tx);
    return rows[0];
  }

  /** They wait no more: these are their firings. */
  async fired(tx: Tx, streamId: number, firingIds: readonly string[]): Promise<void> {
    if (firingIds.length === 0) return;
    await sql`
      update webhook_deliveries set waiting = false
      where stream_id = ${streamId} and waiting and firing_id = any(${[...firingIds]}::text[])`.execute(tx);
  }

  async waitingByHook(streamId: number): Promise<Map<string, number>> {
    const { rows } = await sql<{ hook: string; count: number }>`
      select hook, count(*)::int as count from webhook_deliveries where stream_id = ${streamId} and waiting group by hook`.execute(this.db);
    return new Map(rows.map(({ hook, count }) => [hook, count]));
  }

  /** Removes what counts no more, and what waits for an order that has not come back for this long. Answers how many, of each up to the limit. */
  async forget(waitedMs: number, limit: number): Promise<{ over: number; waited: number }> {
    const over = await sql`
      delete from webhook_deliveries where pk in (
        select pk from webhook_deliveries where not waiting and expires_at < now() order by expires_at limit ${limit} for update skip locked)`.execute(
      this.db,
    );
    const waited = await sql`
      delete from webhook_deliveries where pk in (
        select pk from webhook_deliveries where waiting and received_at < now() - ${waitedMs} * interval '1 millisecond' limit ${limit}
        for update skip locked)`.execute(this.db);
    return { over: Number(over.numAffectedRows), waited: Number(waited.numAffectedRows) };
  }
}
