import { Injectable } from '@nestjs/common';
import { sql, type RawBuilder } from 'kysely';
import { Db } from '../../../../platform/database/database.js';

/** Conversations by their pks: those above one, up to another. */
export interface Stretch {
  readonly above: number;
  readonly upTo: number;
}

export interface Expired {
  readonly conversation_pk: number;
  readonly stream_id: number;
  readonly stream: string;
}

const days = (count: number): RawBuilder<unknown> => sql`clock_timestamp() - ${count} * interval '1 day'`;

/** SQL of what is kept no longer. Each statement takes a bounded share and answers how many that were; what somebody has locked goes the next time. */
@Injectable()
export class RetentionRepository {
  constructor(private readonly db: Db) {}

  /** Conversations whose binding's time is over. */
  async expired(limit: number): Promise<Expired[]> {
    const { rows } = await sql<Expired>`
      select b.conversation_pk, b.stream_id, e.name as stream from extmsg_bindings b join event_streams e on e.id = b.stream_id
      where b.status = 'active' and b.expires_at <= clock_timestamp() order by b.expires_at limit ${limit}`.execute(this.db);
    return rows;
  }

  async forgetBindings(keptDays: number, limit: number): Promise<number> {
    const { numAffectedRows = 0n } = await sql`
      delete from extmsg_bindings where pk in (
        select pk from extmsg_bindings where status = 'ended' and ended_at < ${days(keptDays)} order by ended_at limit ${limit}
        for update skip locked)`.execute(this.db);
    return Number(numAffectedRows);
  }

  async forgetParticipants(keptDays: number, limit: number): Promise<number> {
    const { numAffectedRows = 0n } = await sql`
      delete from extmsg_participants where pk in (
        select pk from extmsg_participants where closed_at < ${days(keptDays)} order by closed_at limit ${limit} for update skip locked)`.execute(
      this.db,
    );
    return Number(numAffectedRows);
  }

  async forgetMemberships(keptDays: number, limit: number): Promise<number> {
    const { numAffectedRows = 0n } = await sql`
      delete from extmsg_memberships where pk in (
        select pk from extmsg_memberships where closed_at < ${days(keptDays)} order by closed_at limit ${limit} for update skip locked)`.execute(
      this.db,
    );
    return Number(numAffectedRows);
  }

  async forgetDeliveries(keptDays: number, limit: number): Promise<number> {
    const { numAffectedRows = 0n } = await sql`
      delete from extmsg_deliveries where pk in (
        select pk from extmsg_deliveries where ended_at < ${days(keptDays)} order by ended_at limit ${limit} for update skip locked)`.execute(
      this.db,
    );
    return Number(numAffectedRows);
  }

  /** Groups without anybody in whose conversation nothing has been said for long. */
  async forgetGroups(keptDays: number, limit: number): Promise<number> {
    const { numAffectedRows = 0n } = await sql`
      delete from extmsg_groups where pk in (
        select g.pk from extmsg_groups g join extmsg_conversations c on c.pk = g.conversation_pk where g.updated_at < ${days(keptDays)}
          and not exists (select from extmsg_participants p where p.group_pk = g.pk)
          and not exists (select from extmsg_entries e where e.conversation_pk = g.conversation_pk and e.created_at >= ${days(keptDays)})
        limit ${limit} for no key update of c skip locked)`.execute(this.db);
    return Number(numAffectedRows);
  }

  /** Entries beyond the age. Answers how many. */
  forgetOldEntries(keptDays: number, limit: number): Promise<number> {
    return this.#forgetEntries(sql`
      select conversation_pk, sequence from extmsg_entries where created_at < ${days(keptDays)} order by created_at limit ${limit}`);
  }

  /** A place among the conversations, drawn by lot. */
  async anywhere(): Promise<number> {
    const { rows } = await sql<{ pk: number }>`
      select floor(random() * coalesce(max(pk), 0))::bigint as pk from extmsg_conversations`.execute(this.db);
    return rows[0]!.pk;
  }

  /** The next conversations, as many as are said at the most, and how many those are. */
  async stretch(above: number, most: number): Promise<Stretch & { readonly count: number }> {
    const { rows } = await sql<{ upTo: number | null; count: number }>`
      select max(pk) as "upTo", count(*)::int as count from (
        select pk from extmsg_conversations where pk > ${above} order by pk limit ${most}) c`.execute(this.db);
    const { upTo, count } = rows[0]!;
    return { above, upTo: upTo ?? above, count };
  }

  /** Entries beyond the number of a conversation: it looks at each of these. Answers how many. */
  forgetManyEntries(kept: number, { above, upTo }: Stretch, limit: number): Promise<number> {
    return this.#forgetEntries(sql`
      select e.conversation_pk, e.sequence from extmsg_conversations c join extmsg_entries e on e.conversation_pk = c.pk
      where c.pk > ${above} and c.pk <= ${upTo} and c.head - c.earliest >= ${kept} and e.sequence <= c.head - ${kept} limit ${limit}`);
  }

  /**
   * What is the oldest of a conversation then is told by its row. It waits for nobody who has a conversation: what is left there goes the
   * next time.
   */
  async #forgetEntries(over: RawBuilder<unknown>): Promise<number> {
    const { rows } = await sql<{ count: number }>`
      with over as materialized (${over}), free as materialized (
        select c.pk from extmsg_conversations c where c.pk in (select conversation_pk from over)
        for no key update skip locked
      ), gone as (
        delete from extmsg_entries e using over o
        where o.conversation_pk in (select f.pk from free f) and e.conversation_pk = o.conversation_pk and e.sequence = o.sequence returning e.conversation_pk, e.sequence
      ), moved as (
        update extmsg_conversations c set earliest = greatest(c.earliest, g.last + 1)
        from (select conversation_pk, max(sequence) as last from gone group by conversation_pk) g where c.pk = g.conversation_pk
      )
      select count(*)::int as count from gone`.execute(this.db);
    return rows[0]!.count;
  }
}
