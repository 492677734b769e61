import { Injectable } from '@nestjs/common';
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Database } from '../../../platform/database/database.js';
import { fitted, fitting, wholePage, type Fitted } from '../../../platform/database/page-bytes.js';
import type { Tx } from '../../../platform/database/transactions.js';
import type { Dropped, EndedMessage, MessageRow, MessageSource, MessageStatus, NewMessage, ShownMessage } from './message-row.js';

/** What became of a message, without what it says. */
const ENDED = sql`m.pk, m.stream_id, m.session_pk, m.id, m.intent, m.source, m.reference, m.sender, m.epoch, m.request_id, m.status,
  m.generation, m.attempts, m.error_code, m.error_message, m.created_at, m.deliver_after, m.expires_at, m.ended_at`;
const rowWith = (body: RawBuilder<string>): RawBuilder<unknown> => sql`${ENDED}, ${body} as body`;
const ROW = rowWith(sql`m.body`);
/** The entry of what was said has the id of its message. */
const STOP_REASON = sql`(
  select t.stop_reason from session_entries e join session_turns t on t.session_pk = e.session_pk and t.turn = e.turn
  where e.session_pk = m.session_pk and e.entry_id = m.id) as stop_reason`;
const DAY_MS = 24 * 60 * 60 * 1000;
const after = (ms: number): RawBuilder<Date> => sql<Date>`clock_timestamp() + ${ms / 1000}::float8 * interval '1 second'`;

/** What decides whether and how a session takes a message. */
export interface QueueFacts {
  /** The city's position. */
  readonly head: number;
  readonly now: Date;
  readonly inTurn: boolean;
  /** Messages that wait or are being delivered. */
  readonly waiting: number;
  /** How many bytes their texts have, which PostgreSQL knows without reading those that are long. */
  readonly bytes: number;
  /** A question of the live process is open. */
  readonly asks: boolean;
}

/** Which messages of a session; all of them without a member. */
export interface Which {
  readonly pk?: number;
  readonly sources?: readonly MessageSource[];
  /** Those whose time is over. */
  readonly overdue?: boolean;
  /** No more than so many, the oldest. */
  readonly first?: number;
}

/** A session with queued messages whose time is over. */
export interface OverdueQueue {
  readonly sessionPk: number;
  readonly streamId: number;
  readonly stream: string;
}

/** SQL of the queue. Every change happens under the lock of the session's row. */
@Injectable()
export class MessageQueueRepository {
  async insert(tx: Tx, session: { pk: number; stream_id: number }, id: string, m: NewMessage): Promise<MessageRow> {
    const { rows } = await sql<MessageRow>`
      insert into session_messages as m (stream_id, session_pk, id, intent, body, source, reference, sender, epoch, request_id, deliver_after, expires_at)
      values (${session.stream_id}, ${session.pk}, ${id}, ${m.intent ?? 'default'}, ${m.body}, ${m.source}, ${m.reference ?? null}, ${m.sender},
        ${m.epoch ?? null}, ${m.requestId ?? null}, ${after(m.delayMs ?? 0)}, ${after(m.lifetimeMs ?? DAY_MS)})
      returning ${ROW}`.execute(tx);
    return rows[0]!;
  }

  /** `limit` bounds how many are counted. */
  async facts(tx: Tx, session: { pk: number; stream_id: number; generation: number }, limit: number): Promise<QueueFacts> {
    const { rows } = await sql<QueueFacts>`
      select s.head, clock_timestamp() as now, l.activity = 'in-turn' as "inTurn", w.waiting, w.bytes,
        exists (select from session_interactions i where i.session_pk = l.session_pk and i.status = 'open'
          and i.generation = ${session.generation}) as asks
      from session_logs l, event_streams s, lateral (
        select count(*)::int as waiting, coalesce(sum(q.bytes), 0)::bigint as bytes from (
          select octet_length(m.body) as bytes from session_messages m where m.session_pk = l.session_pk and m.status in ('queued', 'in_flight')
          limit ${limit}) q) w
      where l.session_pk = ${session.pk} and s.id = ${session.stream_id}`.execute(tx);
    return rows[0]!;
  }

  /** The one to deliver next: what interrupts comes first, then the oldest. None while another is being delivered. */
  async next(tx: Tx, sessionPk: number): Promise<MessageRow | undefined> {
    const { rows } = await sql<MessageRow>`
      select ${ROW} from session_messages m
      where m.session_pk = ${sessionPk} and m.status = 'queued' and m.deliver_after <= clock_timestamp() and m.expires_at > clock_timestamp()
        and not exists (select from session_messages f where f.session_pk = ${sessionPk} and f.status = 'in_flight')
      order by (m.intent = 'interrupt_now') desc, m.pk limit 1`.execute(tx);
    return rows[0];
  }

  /** What waits have queued for the conversation `from` is for the one of now. */
  async goOn(tx: Tx, session: { pk: number; epoch: number }, from: number): Promise<void> {
    await sql`
      update session_messages m set epoch = ${session.epoch}
      where m.session_pk = ${session.pk} and m.status = 'queued' and m.source = 'wait' and m.epoch = ${from}`.execute(tx);
  }

  /** Whether something from these sources is queued for a session. */
  async hasSent(tx: Tx, sessionPk: number, sources: readonly MessageSource[]): Promise<boolean> {
    const { rows } = await sql<{ has: boolean }>`
      select exists (select from session_messages m
        where m.session_pk = ${sessionPk} and m.status = 'queued' and m.source = any(${[...sources]}::text[])) as has`.execute(tx);
    return rows[0]!.has;
  }

  /** What is queued for one session, from these sources, is queued for another. Answers the ids of it. */
  async handOver(tx: Tx, fromPk: number, toPk: number, sources: readonly MessageSource[]): Promise<string[]> {
    const { rows } = await sql<{ id: string }>`
      update session_messages m set session_pk = ${toPk}
      where m.session_pk = ${fromPk} and m.status = 'queued' and m.source = any(${[...sources]}::text[]) returning m.id`.execute(tx);
    return rows.map(({ id }) => id);
  }

  async take(tx: Tx, session: { pk: number; generation: number }, pk: number): Promise<MessageRow | undefined> {
    const { rows } = await sql<MessageRow>`
      update session_messages m set status = 'in_flight', generation = ${session.generation}, attempts = m.attempts + 1
      where m.pk = ${pk} and m.session_pk = ${session.pk} and m.status = 'queued'
        and not exists (select from session_messages f where f.session_pk = ${session.pk} and f.status = 'in_flight')
      returning ${ROW}`.execute(tx);
    return rows[0];
  }

  /** Undefined unless this process of the session was given the message and has not ended it yet. */
  async deliver(tx: Tx, session: { pk: number; generation: number }, pk: number): Promise<MessageRow | undefined> {
    const { rows } = await sql<MessageRow>`
      update session_messages m set status = 'delivered', ended_at = clock_timestamp()
      where m.pk = ${pk} and m.session_pk = ${session.pk} and m.status = 'in_flight' and m.generation = ${session.generation}
      returning ${ROW}`.execute(tx);
    return rows[0];
  }

  /**
   * Ends messages of a session that are in one of the states `from`, oldest first; `only` says which of them. It answers no
   * texts: a full queue has more of them than a process should hold.
   */
  async drop(tx: Tx, sessionPk: number, from: readonly MessageStatus[], to: Dropped, only: Which = {}): Promise<EndedMessage[]> {
    const { rows } = await sql<EndedMessage>`
      update session_messages m set status = ${to.status}, error_code = ${to.code}, error_message = ${to.message}, ended_at = clock_timestamp()
      where m.pk = any(array(
        select m.pk from session_messages m
        where m.session_pk = ${sessionPk} and m.status = any(${[...from]}::text[])
          and (${only.pk ?? null}::bigint is null or m.pk = ${only.pk ?? null}::bigint)
          and (${only.sources === undefined} or m.source = any(${[...(only.sources ?? [])]}::text[]))
          and (not ${only.overdue ?? false}::boolean or m.expires_at <= clock_timestamp())
        order by m.pk limit ${only.first ?? null}::bigint))
      returning ${ENDED}`.execute(tx);
    return rows.sort((a, b) => a.pk - b.pk);
  }

  /** Locks the session that a message is for. */
  async lockSessionOf(tx: Tx, messageId: string): Promise<void> {
    await sql`select s.pk from session_messages m join sessions s on s.pk = m.session_pk where m.id = ${messageId} for no key update of s`.execute(
      tx,
    );
  }

  /** A message that was sent to a session: its own, or of a later one of its configured name, to which messages are handed over. */
  async byId(db: Kysely<Database>, session: { pk: number; stream_id: number }, id: string): Promise<ShownMessage | undefined> {
    const { rows } = await sql<ShownMessage>`
      select ${ROW}, ${STOP_REASON} from session_messages m
      where m.stream_id = ${session.stream_id} and m.id = ${id} and (m.session_pk = ${session.pk} or exists (
        select from sessions s join sessions n on n.stream_id = s.stream_id and n.named_identity = s.named_identity and n.pk > s.pk
        where s.pk = ${session.pk} and n.pk = m.session_pk))`.execute(db);
    return rows[0];
  }

  /** The head of a city's log, to be asked before what belongs to it is read. */
  async cityHead(db: Kysely<Database>, streamId: number): Promise<number> {
    const { rows } = await sql<{ head: number }>`select head from event_streams where id = ${streamId}`.execute(db);
    return rows[0]!.head;
  }

  /** Newest first, before the one with the id `before`, with the first `characters` of their texts. */
  async page(
    db: Kysely<Database>,
    sessionPk: number,
    {
      statuses,
      before,
      limit,
      characters,
    }: { statuses?: readonly string[] | undefined; before?: number | undefined; limit: number; characters: number },
  ): Promise<{ readonly rows: readonly ShownMessage[]; readonly more: boolean }> {
    const found = sql`
      select r.*, octet_length(row_to_json(r)::text) as bytes from (
      select ${rowWith(sql`left(m.body, ${characters})`)}, ${STOP_REASON} from session_messages m where m.session_pk = ${sessionPk}
        and (${statuses === undefined} or m.status = any(${[...(statuses ?? [])]}::text[]))
        and (${before ?? null}::bigint is null or m.pk < ${before ?? null}::bigint)
      order by m.pk desc limit ${limit + 1}) r`;
    const { rows } = await sql<ShownMessage & Fitted>`
      select p.* from (${fitting(found, sql`pk desc`, wholePage(limit))}) p order by p.pk desc`.execute(db);
    return fitted(rows);
  }

  /** Whether the time of a queued message is over. */
  readonly isOverdue = sql<boolean>`(
    select q.expires_at <= clock_timestamp() from session_messages q where q.status = 'queued' order by q.expires_at limit 1)`;

  /** Up to `limit` sessions with queued messages whose time is over, the longest overdue first. */
  async overdue(db: Kysely<Database>, limit: number): Promise<OverdueQueue[]> {
    const { rows } = await sql<OverdueQueue>`
      select m.session_pk as "sessionPk", s.id as "streamId", s.name as stream from (
        select q.session_pk, q.stream_id, min(q.expires_at) as since from session_messages q
        where q.status = 'queued' and q.expires_at <= clock_timestamp() group by 1, 2 order by 3 limit ${limit}
      ) m join event_streams s on s.id = m.stream_id order by m.since`.execute(db);
    return rows;
  }
}
