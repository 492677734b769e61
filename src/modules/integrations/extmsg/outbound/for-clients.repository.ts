import { Injectable } from '@nestjs/common';
import { sql, type RawBuilder } from 'kysely';
import { Db } from '../../../../platform/database/database.js';
import type { Tx } from '../../../../platform/database/transactions.js';

/** Of one statement. */
const BATCH = 1_000;
const MARKED = sql`w.state = 'pending' and w.direction = 'outbound' and w.for_clients_of is not null`;
const UNMARKED = sql`w.state = 'pending' and w.direction = 'outbound' and w.for_clients_of is null`;
const ended = (most: number): RawBuilder<unknown> => sql`(w.attempts >= ${most} or w.deadline < clock_timestamp())`;
/** What somebody has in hand is looked at the next time: whoever has it may want the adapter that is locked here. */
const free = (which: RawBuilder<unknown>): RawBuilder<unknown> => sql`${which} for no key update of w skip locked`;

/**
 * SQL of the mark of what connected clients come for. Workers do not look at it, and the mark goes where its adapter takes streams no more, where
 * it was offered often enough, and with its deadline. What lacks its mark, or has it wrongly, waits until the next look at all of them.
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
  async leave(tx: Tx, adapterPk: number): Promise<void> {
    await sql`
      update extmsg_deliveries d set for_clients_of = null where d.pk in (${free(sql`
        select w.pk from extmsg_deliveries w where ${MARKED} and w.for_clients_of = ${adapterPk}`)})`.execute(tx);
  }

  /** Marks that are wrong: of adapters that have changed meanwhile, and what the release before has offered for the last time. Answers how many. */
  async unmark(offers: number, limit = BATCH): Promise<number> {
    const { numAffectedRows = 0n } = await sql`
      with gone as materialized (
        select m.adapter from (select distinct w.for_clients_of as adapter from extmsg_deliveries w where ${MARKED}) m
        where not exists (select from extmsg_adapters a where a.pk = m.adapter and a.transport = 'stream')
      )
      update extmsg_deliveries d set for_clients_of = null where d.pk in (${free(sql`
        select w.pk from extmsg_deliveries w
        where ${MARKED} and (w.attempts >= ${offers} or w.for_clients_of in (select g.adapter from gone g)) limit ${limit}`)})`.execute(
      this.db,
    );
    return Number(numAffectedRows);
  }

  /**
   * Marks what waits for clients and has no mark: that of adapters which took no streams before, and what the release before has taken. Each
   * conversation is found by one look into the index. Answers how many.
   */
  async mark(offers: number, limit = BATCH): Promise<number> {
    const { numAffectedRows = 0n } = await sql`
      with recursive first as (
        (select w.conversation_pk from extmsg_deliveries w where ${UNMARKED} order by w.conversation_pk, w.pk limit 1)
        union all
        select n.* from first f cross join lateral (
          select w.conversation_pk from extmsg_deliveries w where ${UNMARKED} and w.conversation_pk > f.conversation_pk
          order by w.conversation_pk, w.pk limit 1) n
      ), found as (
        select w.pk, a.pk as adapter from first f cross join lateral (select * from extmsg_conversations n where n.pk = f.conversation_pk limit 1) c
          join extmsg_adapters a on a.stream_id = c.stream_id and a.provider = c.provider and a.account_id = c.account_id
          cross join lateral (${free(sql`
            select w.pk from extmsg_deliveries w where w.conversation_pk = f.conversation_pk and ${UNMARKED} and not ${ended(offers)}
            order by w.conversation_pk, w.pk`)}) w
        where a.transport = 'stream' limit ${limit}
      )
      update extmsg_deliveries d set for_clients_of = f.adapter from found f where d.pk = f.pk`.execute(this.db);
    return Number(numAffectedRows);
  }
}
