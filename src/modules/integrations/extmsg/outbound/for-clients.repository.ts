import { Injectable } from '@nestjs/common';
import { sql, type Kysely, type RawBuilder } from 'kysely';
import { Db, type Database } from '../../../../platform/database/database.js';
import type { Tx } from '../../../../platform/database/transactions.js';

/** Of one statement. */
const BATCH = 1_000;
const MARKED = sql`w.state = 'pending' and w.direction = 'outbound' and w.for_clients_of is not null`;
/** What somebody has in hand is looked at the next time: whoever has it may want the adapter that is locked here. */
const free = (which: RawBuilder<unknown>): RawBuilder<unknown> => sql`${which} for no key update of w skip locked`;

/**
 * SQL of the mark of what connected clients come for. Workers do not look at it, and the mark goes where its adapter takes streams no more, where
 * it was offered often enough, and with its deadline. What has it wrongly waits until the next look for that; what lacks it gets it from the worker
 * that finds it.
 */
@Injectable()
export class ForClientsRepository {
  constructor(private readonly db: Db) {}

  /** What nobody has come for in time is for a worker: it says so. */
  async release(tx: Tx): Promise<void> {
    await sql`
      update extmsg_deliveries d set for_clients_of = null where d.pk in (${free(sql`
        select w.pk from extmsg_deliveries w where ${MARKED} and w.deadline < now() order by w.deadline limit ${BATCH}`)})`.execute(tx);
  }

  /** All that waits for clients of an adapter, which takes streams no more. */
  async leave(tx: Kysely<Database>, adapterPk: number): Promise<void> {
    await sql`
      update extmsg_deliveries d set for_clients_of = null where d.pk in (${free(sql`
        select w.pk from extmsg_deliveries w where ${MARKED} and w.for_clients_of = ${adapterPk}`)})`.execute(tx);
  }

  /** Adapters that take no streams, or are gone, and of which there are marks still. Each adapter is found by one look into the index. */
  async gone(): Promise<number[]> {
    const next = (among: RawBuilder<unknown>): RawBuilder<unknown> => sql`
      select w.for_clients_of as pk from extmsg_deliveries w where ${MARKED} and ${among} order by w.for_clients_of, w.conversation_pk, w.pk limit 1`;
    const { rows } = await sql<{ pk: number }>`
      with recursive marks as (
        (${next(sql`true`)})
        union all
        select n.pk from marks m cross join lateral (${next(sql`w.for_clients_of > m.pk`)}) n
      )
      select m.pk from marks m where not exists (select from extmsg_adapters a where a.pk = m.pk and a.transport = 'stream')`.execute(
      this.db,
    );
    return rows.map(({ pk }) => pk);
  }

  /** What the release before has offered for the last time has its mark still, and whoever had it: it is among the few that somebody has. */
  async offered(offers: number): Promise<void> {
    await sql`
      with held as materialized (
        select w.pk, w.for_clients_of, w.attempts from extmsg_deliveries w where w.state = 'pending' and w.worker is not null
      )
      update extmsg_deliveries d set for_clients_of = null where d.pk in (
        select l.pk from held h cross join lateral (${free(sql`
          select w.pk from extmsg_deliveries w where w.pk = h.pk and w.attempts >= ${offers}`)}) l
        where h.for_clients_of is not null and h.attempts >= ${offers})`.execute(this.db);
  }
}
