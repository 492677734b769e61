import { Injectable } from '@nestjs/common';
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Database } from '../../../../platform/database/database.js';
import { fitted, fitting, wholePage, type Fitted } from '../../../../platform/database/page-bytes.js';
import type { Tx } from '../../../../platform/database/transactions.js';
import type { CityScope } from '../../../tenancy/cities/city-scope.js';
import type { Conversation } from '../conversations/conversation.js';
import { DELIVERY_STATES, DIRECTIONS, type DeliveryDirection, type DeliveryState } from './deliveries.schemas.js';

/** Something on its way, with its conversation. */
export interface DeliveryRow extends Conversation {
  readonly pk: number;
  readonly stream_id: number;
  readonly conversation_pk: number;
  readonly id: string;
  readonly direction: DeliveryDirection;
  readonly state: DeliveryState;
  readonly sequence: number | null;
  readonly selector: string;
  readonly session_pk: number | null;
  readonly session_id: string;
  readonly body: string;
  readonly message_id: string | null;
  readonly attempts: number;
  readonly error_code: string | null;
  readonly error: string | null;
  readonly created_at: Date;
  readonly not_before: Date;
  readonly deadline: Date;
  readonly ended_at: Date | null;
  readonly overdue: boolean;
}

export interface MemberDelivery {
  readonly id: string;
  readonly direction: 'inbound' | 'peer';
  readonly sequence: number;
  readonly selector: string;
  readonly sessionPk: number | null;
  readonly body: string;
  /** The entry from outside that a publication goes back to. */
  readonly root?: number;
  /** Why nobody is told after all. */
  readonly skipped?: string;
}

export interface DeliveryFilter {
  readonly states: readonly string[] | undefined;
  readonly direction: string | undefined;
  readonly before: number | undefined;
  readonly limit: number;
}

/** How long something waits, and for the clients of which adapter, if that is for clients. */
export interface Waiting {
  readonly lifeMs: number;
  readonly forClientsOf: number | null;
}

/** The oldest that waits for a member. */
export interface Due extends DeliveryRow {
  readonly city: string;
  /** He is one still. */
  readonly member: boolean;
}

/** One that waited for a member when it was looked at. It may be for another by now. */
export type Seen = Pick<DeliveryRow, 'pk' | 'selector'>;

/** How long somebody is tried to be told. */
const LIFE = sql`interval '24 hours'`;
const ROW = sql`d.pk, d.stream_id, d.conversation_pk, d.id, d.direction, d.state, d.sequence, d.selector, d.session_pk, d.session_id, d.body,
  d.message_id, d.attempts, d.error_code, d.error, d.created_at, d.not_before, d.deadline, d.ended_at, d.deadline < clock_timestamp() as overdue,
  c.scope_id, c.provider, c.account_id, c.conversation_id, c.parent_conversation_id, c.kind`;
const IS_MEMBER = sql`exists (select from extmsg_memberships m
  where m.conversation_pk = d.conversation_pk and m.selector = d.selector and m.closed_at is null)`;
/** It waits still, and for whom it was seen to wait for. */
const waitsFor = ({ pk, selector }: Seen): RawBuilder<unknown> => sql`d.pk = ${pk} and d.selector = ${selector} and d.state = 'pending'`;
const FROM = sql`extmsg_deliveries d join extmsg_conversations c on c.pk = d.conversation_pk`;

/** No pk is above it. */
const LAST_PK = sql.lit(Number.MAX_SAFE_INTEGER);
/** Waits for a member; in the order of the index of those. */
const WAITS = sql`w.state = 'pending' and w.direction <> 'outbound'`;
const LINE = sql`w.stream_id, w.selector, w.pk`;

/** SQL of what is on its way to members, and of lists of all that is. */
@Injectable()
export class DeliveriesRepository {
  /** In the transaction of the entry that they are told of: one a member. */
  async insert(
    tx: Tx,
    conversation: { readonly pk: number; readonly stream_id: number },
    deliveries: readonly MemberDelivery[],
  ): Promise<void> {
    for (const { id, direction, sequence, selector, sessionPk, body, root, skipped } of deliveries)
      await sql`
        insert into extmsg_deliveries (stream_id, conversation_pk, id, direction, sequence, selector, session_pk, body, root, deadline, state, error_code, ended_at)
        values (${conversation.stream_id}, ${conversation.pk}, ${id}, ${direction}, ${sequence}, ${selector}, ${sessionPk}, ${body}, ${root ?? null},
          clock_timestamp() + ${LIFE}, ${skipped === undefined ? 'pending' : 'skipped'}, ${skipped ?? null},
          ${skipped === undefined ? null : sql`clock_timestamp()`})
        on conflict do nothing`.execute(tx);
  }

  /** Whether anything waits for a member, be its time come or not. */
  readonly isDue = sql<boolean>`(select true from extmsg_deliveries w where ${WAITS} order by ${LINE} limit 1)`;

  /**
   * The oldest that waits for each member, where its time has come: what comes after it waits for it. Cities have them in turn, what was
   * not tried yet before what was, and what was tried last at the end: cities whose members have to wait keep nobody's message back. Each member is
   * found by one look into the index: a city that is suspended may have a million that wait.
   */
  async due(db: Kysely<Database>, limit: number): Promise<Due[]> {
    const { rows } = await sql<Due>`
      with recursive first as (
        (select ${LINE}, w.not_before, w.attempts from extmsg_deliveries w where ${WAITS} order by ${LINE} limit 1)
        union all
        select n.* from first f cross join lateral (
          select ${LINE}, w.not_before, w.attempts from extmsg_deliveries w where ${WAITS} and (w.stream_id, w.selector) > (f.stream_id, f.selector)
          order by ${LINE} limit 1) n
      )
      select ${ROW}, ${IS_MEMBER} as member, e.name as city
      from (
        select f.pk from first f where f.not_before <= clock_timestamp()
        order by row_number() over (partition by f.stream_id order by f.attempts > 0, f.not_before, f.pk),
          f.attempts > 0, f.not_before, f.pk limit ${limit}) f
      cross join lateral (select * from extmsg_deliveries w where w.pk = f.pk limit 1) d
      join extmsg_conversations c on c.pk = d.conversation_pk join event_streams e on e.id = d.stream_id
      order by d.pk`.execute(db);
    return rows;
  }

  async runningCity(db: Kysely<Database>, streamId: number): Promise<CityScope | undefined> {
    const { rows } = await sql<CityScope>`
      select id, name, dir as path, name as stream, stream_id as "streamId" from cities where stream_id = ${streamId} and running`.execute(
      db,
    );
    return rows[0];
  }

  /** It is in the queue of a session. False when it waits no more, or when that session was told of the entry already. */
  async queued(tx: Tx, pk: number, session: { readonly pk: number; readonly id: string }, messageId: string): Promise<boolean> {
    const { rows } = await sql`
      update extmsg_deliveries set state = 'queued', session_pk = ${session.pk}, session_id = ${session.id}, message_id = ${messageId},
        attempts = attempts + 1, error_code = null, error = null where pk = ${pk} and state = 'pending' returning 1`.execute(tx);
    return rows.length === 1;
  }

  /**
   * One that waits for whom it was seen to wait for, locked until the commit. `member`: whoever is to be told is one of the conversation still; `told`: another delivery tells
   * that session of the entry; `waiting`: how many messages wait for it, counted up to a limit. Whoever asks has the session locked, so that both stay as they are.
   */
  async lockPending(
    tx: Tx,
    seen: Seen,
    sessionPk: number,
    limit: number,
  ): Promise<(DeliveryRow & { readonly member: boolean; readonly told: boolean; readonly waiting: number }) | undefined> {
    const { rows } = await sql<DeliveryRow & { member: boolean; told: boolean; waiting: number }>`
      select ${ROW}, ${IS_MEMBER} as member,
        exists (select from extmsg_deliveries o where o.conversation_pk = d.conversation_pk and o.sequence = d.sequence
          and o.session_pk = ${sessionPk} and o.direction <> 'outbound' and o.pk <> d.pk) as told,
        (select count(*)::int from (select from session_messages where session_pk = ${sessionPk} and status in ('queued', 'in_flight')
          limit ${limit}) w) as waiting
      from ${FROM} where ${waitsFor(seen)} for no key update of d`.execute(tx);
    return rows[0];
  }

  async later(tx: Tx, seen: Seen, delayMs: number, code: string, error: string): Promise<void> {
    await sql`
      update extmsg_deliveries d set attempts = attempts + 1, not_before = clock_timestamp() + ${delayMs} * interval '1 millisecond',
        error_code = ${code}, error = ${error} where ${waitsFor(seen)}`.execute(tx);
  }

  /** Undefined when it has ended already, or waits for another. */
  async end(
    tx: Tx,
    which: Seen | { readonly messageId: string },
    state: 'delivered' | 'failed' | 'skipped',
    failure?: { readonly code: string; readonly error: string },
  ): Promise<DeliveryRow | undefined> {
    const own = 'pk' in which ? waitsFor(which) : sql`d.message_id = ${which.messageId} and d.state = 'queued'`;
    const { rows } = await sql<DeliveryRow>`
      update extmsg_deliveries d set state = ${state}, error_code = ${failure?.code ?? null}, error = ${failure?.error ?? null},
        ended_at = clock_timestamp() from extmsg_conversations c
      where c.pk = d.conversation_pk and ${own} and d.direction <> 'outbound' returning ${ROW}`.execute(tx);
    return rows[0];
  }

  /** Who has left is not told. False where he is a member again, where it has ended, or waits for another. */
  async skip(tx: Tx, seen: Seen, { code, error }: { readonly code: string; readonly error: string }): Promise<boolean> {
    const { rows } = await sql`
      update extmsg_deliveries d set state = 'skipped', error_code = ${code}, error = ${error}, ended_at = clock_timestamp()
      where ${waitsFor(seen)} and d.direction <> 'outbound' and not ${IS_MEMBER} returning 1`.execute(tx);
    return rows.length === 1;
  }

  /** What waits for a session that has ended. What has its pk while it waits goes by its id, in whose line it is found. */
  async endOf(
    tx: Tx,
    streamId: number,
    session: { readonly pk: number; readonly id: string },
    failure: { readonly code: string; readonly error: string },
  ): Promise<DeliveryRow[]> {
    const { rows } = await sql<DeliveryRow>`
      update extmsg_deliveries d set state = 'failed', error_code = ${failure.code}, error = ${failure.error}, ended_at = clock_timestamp()
      from extmsg_conversations c
      where c.pk = d.conversation_pk and d.stream_id = ${streamId} and d.state = 'pending' and d.direction <> 'outbound'
        and d.selector = ${session.id} and d.session_pk = ${session.pk} returning ${ROW}`.execute(tx);
    return rows.sort((a, b) => a.pk - b.pk);
  }

  /** What waits for one session goes to that which comes after it. What is in its queue goes with the messages there: see `follow`. */
  async move(
    tx: Tx,
    streamId: number,
    from: { readonly pk: number; readonly id: string },
    to: { readonly pk: number; readonly id: string },
  ): Promise<void> {
    await sql`
      update extmsg_deliveries set session_pk = ${to.pk}, selector = ${to.id}
      where stream_id = ${streamId} and state = 'pending' and direction <> 'outbound' and selector = ${from.id} and session_pk = ${from.pk}`.execute(
      tx,
    );
  }

  /** Messages of the queue of one session are in that of another: that one is told, and nobody tells it once more. */
  async follow(
    tx: Tx,
    messageIds: readonly string[],
    from: { readonly pk: number; readonly id: string },
    to: { readonly pk: number; readonly id: string },
  ): Promise<void> {
    await sql`
      update extmsg_deliveries set session_pk = ${to.pk}, session_id = ${to.id}, selector = case selector when ${from.id} then ${to.id} else selector end
      where message_id = any(${[...messageIds]}::text[]) and state = 'queued' and direction <> 'outbound' and session_pk = ${from.pk}`.execute(
      tx,
    );
  }

  /**
   * What came from outside and waits for one member, who has left, is for another, who has the conversation now; at once, whatever kept the one
   * before. What the other is told already stays, and is told nobody; so does what members have said: it may be his own.
   */
  async handOver(
    tx: Tx,
    at: { readonly pk: number; readonly stream_id: number },
    from: string,
    to: { readonly selector: string; readonly sessionPk: number | null },
  ): Promise<void> {
    await sql`
      update extmsg_deliveries d set selector = ${to.selector}, session_pk = ${to.sessionPk}, attempts = 0, not_before = clock_timestamp(),
        error_code = null, error = null
      where d.stream_id = ${at.stream_id} and d.selector = ${from} and d.state = 'pending' and d.direction = 'inbound'
        and d.conversation_pk = ${at.pk} and not ${IS_MEMBER}
        and not exists (select from extmsg_deliveries o where o.conversation_pk = d.conversation_pk and o.sequence = d.sequence
          and o.direction <> 'outbound' and (o.selector = ${to.selector} or o.session_pk = ${to.sessionPk}))`.execute(tx);
  }

  /** Newest first. Of some states, or of one direction, each state of each direction is looked up by itself: one may have few, and another all. */
  async page(
    db: Kysely<Database>,
    streamId: number,
    { states, direction, before, limit }: DeliveryFilter,
  ): Promise<{ rows: readonly DeliveryRow[]; more: boolean }> {
    const older = sql`w.stream_id = ${streamId} and w.pk < coalesce(${before ?? null}::bigint, ${LAST_PK})`;
    const newest = sql`order by w.pk desc limit ${limit + 1}`;
    const all = states === undefined && direction === undefined;
    const listed = all
      ? sql`select w.pk from extmsg_deliveries w where ${older} ${newest}`
      : sql`
        select w.pk from unnest(${direction === undefined ? [...DIRECTIONS] : [direction]}::text[]) as of_direction(name)
          cross join unnest(${[...new Set(states ?? DELIVERY_STATES)]}::text[]) as of_state(name)
          cross join lateral (
            select w.pk from extmsg_deliveries w where ${older} and w.direction = of_direction.name and w.state = of_state.name ${newest}) w
        ${newest}`;
    const found = sql`
      select ${ROW}, octet_length(d.body) * 2 + coalesce(octet_length(d.error), 0) * 2 + 3000 as bytes
      from (${listed}) l join extmsg_deliveries d on d.pk = l.pk join extmsg_conversations c on c.pk = d.conversation_pk`;
    const { rows } = await sql<DeliveryRow & Fitted>`${fitting(found, sql`pk desc`, wholePage(limit))} order by nth`.execute(db);
    return fitted(rows);
  }

  async byId(db: Kysely<Database>, streamId: number, id: string): Promise<DeliveryRow | undefined> {
    const { rows } = await sql<DeliveryRow>`select ${ROW} from ${FROM} where d.stream_id = ${streamId} and d.id = ${id}`.execute(db);
    return rows[0];
  }

  /** From the start; `forClientsOf`: the adapter whose clients come for it. False for what has not failed. */
  async again(tx: Tx, pk: number, { lifeMs, forClientsOf }: Waiting): Promise<boolean> {
    const { rows } = await sql`
      update extmsg_deliveries set state = 'pending', attempts = 0, not_before = clock_timestamp(), error_code = null, error = null, ended_at = null,
        deadline = clock_timestamp() + ${lifeMs} * interval '1 millisecond', message_id = null, receipt = null, worker = null, claim = null,
        lease_until = null, for_clients_of = ${forClientsOf},
        session_pk = case when direction = 'outbound' or session_id in ('', selector) then session_pk end
      where pk = ${pk} and state = 'failed' returning 1`.execute(tx);
    return rows.length === 1;
  }
}
