import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../../platform/database/database.js';
import type { Tx } from '../../../../platform/database/transactions.js';
import { runs } from '../running-city.js';

/** For whom an adapter speaks. */
export interface Account {
  readonly stream_id: number;
  readonly provider: string;
  readonly account_id: string;
}

/** An adapter, and the stream of its city. */
export interface Adapter {
  readonly pk: number;
  readonly stream_id: number;
}

export interface Candidate {
  readonly pk: number;
  readonly conversation_pk: number;
}

/** What a connection may have in flight, and how often one publication is offered. */
export interface OfferLimits {
  readonly count: number;
  readonly bytes: number;
  readonly offers: number;
}

/** Claims that a connection has let run out, less those that it has answered, from which on another comes before it. */
const SILENT = 5;
const BYTES = sql`octet_length(w.body) + octet_length(w.attachments::text)`;
/** Nobody has it, and its time has come. */
const FREE = sql`w.not_before <= clock_timestamp() and (w.worker is null or w.lease_until < clock_timestamp()) and w.deadline > clock_timestamp()`;
const ofAccount = ({ stream_id, provider, account_id }: Account): ReturnType<typeof sql> =>
  sql`c.stream_id = ${stream_id} and c.provider = ${provider} and c.account_id = ${account_id}`;
/** Clients of an adapter come for it. */
const waitsFor = (adapterPk: ReturnType<typeof sql>): ReturnType<typeof sql> =>
  sql`w.for_clients_of = ${adapterPk} and w.state = 'pending' and w.direction = 'outbound'`;
/** In the order of the index of these, so that no other is taken. */
const LINE = sql`w.conversation_pk, w.pk`;
/** The mark that clients come for it, as long as it is offered again. */
const unlessLast = (offers: number): ReturnType<typeof sql> => sql`case when d.attempts + 1 < ${offers} then d.for_clients_of end`;
const in_ = (ms: number): ReturnType<typeof sql> => sql`clock_timestamp() + ${ms} * interval '1 millisecond'`;

/** SQL of what is offered to connected clients. */
@Injectable()
export class OffersRepository {
  constructor(private readonly db: Db) {}

  /** Of these adapters, those for which something is free; what its conversation keeps waiting is among it. */
  async waiting(adapterPks: readonly number[]): Promise<ReadonlySet<number>> {
    const { rows } = await sql<{ pk: number }>`
      select a.pk from extmsg_adapters a cross join lateral (
        select from extmsg_deliveries w where ${waitsFor(sql`a.pk`)} and ${FREE} order by ${LINE} limit 1) w
      where a.pk = any(${[...adapterPks]}::bigint[]) and ${runs(sql`a.stream_id`)}`.execute(this.db);
    return new Set(rows.map(({ pk }) => pk));
  }

  /**
   * The oldest of each conversation that is free, as far as the connection has room: half as much for each claim that it has let run out,
   * and nothing for one that lets all run out while another of its adapter does not. Nothing of a city that is stopped.
   */
  async candidates({ pk, stream_id }: Adapter, connection: string, { count, bytes, offers }: OfferLimits): Promise<Candidate[]> {
    const { rows } = await sql<Candidate>`
      with room as (
        select case when k.missed >= ${SILENT} and exists (select from extmsg_connections o where o.adapter_pk = k.adapter_pk
            and o.missed < k.missed and o.lease_until > clock_timestamp()) then 0 else ${count}::int >> k.missed::int end as count
        from extmsg_connections k where k.id = ${connection}
      ), flying as (
        select count(*)::int as count, coalesce(sum(${BYTES}), 0)::bigint as bytes from extmsg_deliveries w
        where w.worker = ${connection} and w.state = 'pending' and w.lease_until > clock_timestamp()
      ), first as (
        select distinct on (w.conversation_pk) w.pk, w.conversation_pk, w.attempts, ${FREE} as free, ${BYTES} as bytes
        from extmsg_deliveries w where ${waitsFor(sql`${pk}`)} order by ${LINE}
      ), line as (
        select f.pk, f.conversation_pk, row_number() over (order by f.pk) as nth, sum(f.bytes) over (order by f.pk) as bytes
        from first f where f.free and f.attempts < ${offers} and ${runs(sql`${stream_id}`)}
          and not exists (select from extmsg_deliveries o where o.conversation_pk = f.conversation_pk and o.pk < f.pk
            and o.state = 'pending' and o.direction = 'outbound' offset 0)
      )
      select l.pk, l.conversation_pk from line l, flying f, room r
      where l.nth <= r.count - f.count and (l.bytes + f.bytes <= ${bytes} or l.nth + f.count = 1) order by l.pk`.execute(this.db);
    return rows;
  }

  /**
   * Gives one to a connection, under the lock of its conversation: if the connection counts, nobody has it, and nothing of the
   * conversation comes before it. After the last offer it is for a worker. `silent`: who had it, and has not answered in time. Undefined when it is not to be had.
   */
  async take(
    tx: Tx,
    pk: number,
    connection: string,
    claim: string,
    { ms, offers, silence }: { readonly ms: number; readonly offers: number; readonly silence: string },
  ): Promise<{ readonly silent: string | null } | undefined> {
    const unanswered = JSON.stringify({ messageId: '', kind: 'transient', error: silence, retryAfterMs: 0, metadata: null });
    const { rows } = await sql<{ silent: string | null }>`
      with free as (
        select w.pk, w.worker as silent from extmsg_deliveries w where w.pk = ${pk} and w.state = 'pending' and ${FREE} and ${runs(sql`w.stream_id`)}
          and exists (select from extmsg_connections k where k.id = ${connection})
          and not exists (select from extmsg_deliveries o where o.conversation_pk = w.conversation_pk and o.state = 'pending'
            and o.direction = 'outbound' and o.pk < w.pk)
        for no key update of w
      ), taken as (
        update extmsg_deliveries d set worker = ${connection}, claim = ${claim}, lease_until = ${in_(ms)}, attempts = attempts + 1, for_clients_of = ${unlessLast(offers)},
          receipt = case when f.silent is not null then ${unanswered}::jsonb else d.receipt end, error_code = case when f.silent is not null then 'transient' else d.error_code end,
          error = case when f.silent is not null then ${silence} else d.error end
        from free f where d.pk = f.pk
      )
      select silent from free`.execute(tx);
    return rows[0];
  }

  /** What a connection has goes to the one that its client has opened after it, under the same claims; that counts as an offer. */
  async move(
    tx: Tx,
    account: Account,
    from: string,
    to: string,
    { ms, offers }: { readonly ms: number; readonly offers: number },
  ): Promise<Candidate[]> {
    const { rows } = await sql<Candidate>`
      update extmsg_deliveries d set worker = ${to}, lease_until = ${in_(ms)}, attempts = attempts + 1, for_clients_of = ${unlessLast(offers)} from extmsg_conversations c
      where c.pk = d.conversation_pk and ${ofAccount(account)} and d.worker = ${from} and d.state = 'pending' and d.direction = 'outbound'
        and d.attempts < ${offers} returning d.pk, d.conversation_pk`.execute(tx);
    return rows.sort((a, b) => a.pk - b.pk);
  }

  /** How many wait for an adapter, counted up to a limit. */
  async count(tx: Tx, { pk, stream_id }: Adapter, limit: number): Promise<number> {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from (
        select from extmsg_deliveries w where ${waitsFor(sql`${pk}`)} and w.stream_id = ${stream_id} order by ${LINE} limit ${limit}) w`.execute(
      tx,
    );
    return rows[0]!.count;
  }
}
