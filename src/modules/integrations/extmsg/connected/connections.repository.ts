import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../../platform/database/database.js';
import type { Tx } from '../../../../platform/database/transactions.js';

/** SQL of streams that are open, at any replica. */
@Injectable()
export class ConnectionsRepository {
  constructor(private readonly db: Db) {}

  /**
   * How many an adapter has, without those whose replica has died and without the one whose client goes on, whoever has it open. Its row is
   * locked until the commit: two do not count at once. Locks are taken in this order: deliveries, adapters, connections.
   */
  async others(tx: Tx, adapterPk: number, before: string | undefined): Promise<number> {
    await sql`select 1 from extmsg_adapters where pk = ${adapterPk} for no key update`.execute(tx);
    await sql`
      delete from extmsg_connections where adapter_pk = ${adapterPk} and (lease_until < clock_timestamp() or id = ${before ?? ''})`.execute(
      tx,
    );
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from extmsg_connections where adapter_pk = ${adapterPk}`.execute(tx);
    return rows[0]!.count;
  }

  async insert(tx: Tx, adapterPk: number, id: string, leaseMs: number): Promise<void> {
    await sql`
      insert into extmsg_connections (id, adapter_pk, lease_until)
      values (${id}, ${adapterPk}, clock_timestamp() + ${leaseMs} * interval '1 millisecond')`.execute(tx);
  }

  /** Answers which of these count still. One that somebody has locked is renewed the next time. Their adapters are seen to be there. */
  async renew(ids: readonly string[], leaseMs: number): Promise<ReadonlySet<string>> {
    const { rows } = await sql<{ id: string }>`
      with held as (
        update extmsg_connections set lease_until = clock_timestamp() + ${leaseMs} * interval '1 millisecond'
        where id in (select k.id from extmsg_connections k where k.id = any(${[...ids]}::text[]) for no key update skip locked) returning id, adapter_pk
      ), seen as (
        update extmsg_adapters set last_seen_at = clock_timestamp() where pk in (
          select a.pk from extmsg_adapters a where a.pk in (select adapter_pk from held) and a.last_seen_at < clock_timestamp() - interval '5 seconds'
          for no key update skip locked)
      )
      select id from extmsg_connections where id = any(${[...ids]}::text[])`.execute(this.db);
    return new Set(rows.map(({ id }) => id));
  }

  async remove(id: string): Promise<void> {
    await sql`delete from extmsg_connections where id = ${id}`.execute(this.db);
  }

  /** A claim that it had has run out unanswered: it is given half as much from now on. */
  async missed(tx: Tx, id: string): Promise<void> {
    await sql`update extmsg_connections set missed = least(missed + 1, 5) where id = ${id}`.execute(tx);
  }

  async answered(tx: Tx, id: string): Promise<void> {
    await sql`update extmsg_connections set missed = missed - 1 where id = ${id} and missed > 0`.execute(tx);
  }

  /** All of an adapter: whoever has one open finds that it counts no more, and opens another if he may. */
  async removeOf(tx: Tx, adapterPk: number): Promise<void> {
    await sql`delete from extmsg_connections where adapter_pk = ${adapterPk}`.execute(tx);
  }
}
