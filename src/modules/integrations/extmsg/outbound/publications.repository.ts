import { Injectable } from '@nestjs/common';
import { sql, type Kysely, type RawBuilder } from 'kysely';
import { Db, type Database } from '../../../../platform/database/database.js';
import type { Tx } from '../../../../platform/database/transactions.js';
import { keysByTurn, type Places } from '../../../sessions/launch/places.js';
import { runs } from '../running-city.js';
import type { NewPublication, PublicationRow, StoredReceipt } from './publication.js';

/** Calls of one adapter at once, of all workers together: one that hangs holds nobody else up. */
const CALLS_AT_ONCE = 4;
/** Publications that get their mark in one turn of a worker. */
const MARKED_AT_ONCE = 1_000;
const ROW = sql`d.pk, d.stream_id, d.conversation_pk, d.id, d.direction, d.state, d.selector, d.session_pk, d.session_id, d.body, d.sequence,
  d.conversation, d.attachments, d.reply_to_message_id, d.explicit_target, d.idempotency_key, d.body_hash, d.generation, d.root, d.attempts, d.receipt,
  d.deadline < clock_timestamp() as overdue, d.created_at, d.worker, d.claim, d.lease_until, c.scope_id, c.provider, c.account_id, c.conversation_id, c.parent_conversation_id, c.kind`;

/** Waits to go out by a worker; in the order of the index of those. */
const WAITS = sql`w.state = 'pending' and w.direction = 'outbound' and w.for_clients_of is null`;
const LINE = sql`w.conversation_pk, w.pk`;

/** SQL of what goes out. */
@Injectable()
export class PublicationsRepository {
  constructor(private readonly db: Db) {}

  async byKey(tx: Tx, conversationPk: number, key: string): Promise<PublicationRow | undefined> {
    if (key === '') return undefined;
    const { rows } = await sql<PublicationRow>`
      select ${ROW} from extmsg_deliveries d join extmsg_conversations c on c.pk = d.conversation_pk
      where d.conversation_pk = ${conversationPk} and d.direction = 'outbound' and d.idempotency_key = ${key} and d.idempotency_key <> ''`.execute(
      tx,
    );
    return rows[0];
  }

  /** The name of a city's event stream. */
  async stream(tx: Tx, streamId: number): Promise<string> {
    const { name } = await tx.selectFrom('event_streams').select('name').where('id', '=', streamId).executeTakeFirstOrThrow();
    return name;
  }

  /** For whom an adapter is called, and what its credentials are made of. */
  async caller(tx: Tx, streamId: number): Promise<{ city: string; deployment: Buffer }> {
    const { rows } = await sql<{ city: string; deployment: Buffer }>`
      select e.name as city, d.secret as deployment from event_streams e cross join deployment d where e.id = ${streamId}`.execute(tx);
    return rows[0]!;
  }

  async byPk(db: Kysely<Database>, pk: number): Promise<PublicationRow | undefined> {
    const { rows } = await sql<PublicationRow>`
      select ${ROW} from extmsg_deliveries d join extmsg_conversations c on c.pk = d.conversation_pk where d.pk = ${pk}`.execute(db);
    return rows[0];
  }

  async byId(db: Kysely<Database>, streamId: number, id: string): Promise<PublicationRow | undefined> {
    const { rows } = await sql<PublicationRow>`
      select ${ROW} from extmsg_deliveries d join extmsg_conversations c on c.pk = d.conversation_pk
      where d.stream_id = ${streamId} and d.id = ${id} and d.direction = 'outbound'`.execute(db);
    return rows[0];
  }

  async insert(tx: Tx, at: { readonly pk: number; readonly stream_id: number }, p: NewPublication): Promise<number> {
    const { rows } = await sql<{ pk: number }>`
      insert into extmsg_deliveries (stream_id, conversation_pk, id, direction, session_pk, session_id, body, conversation, attachments,
        reply_to_message_id, explicit_target, idempotency_key, body_hash, generation, root, triggered, for_clients_of, deadline)
      values (${at.stream_id}, ${at.pk}, ${p.id}, 'outbound', ${p.session.pk}, ${p.session.id}, ${p.text}, ${JSON.stringify(p.conversation)}::jsonb,
        ${JSON.stringify(p.attachments)}::jsonb, ${p.replyTo}, ${p.explicitTarget}, ${p.key}, ${p.bodyHash}, ${p.generation}, ${p.root},
        ${p.triggered}, ${p.forClientsOf}, clock_timestamp() + ${p.lifeMs} * interval '1 millisecond') returning pk`.execute(tx);
    return rows[0]!.pk;
  }

  /** The entry from outside that all goes back to that is said now; 0 for none. */
  async root(tx: Tx, conversationPk: number): Promise<number> {
    const { rows } = await sql<{ sequence: number }>`
      select sequence from extmsg_entries where conversation_pk = ${conversationPk} and kind = 'inbound' order by sequence desc limit 1`.execute(
      tx,
    );
    return rows[0]?.sequence ?? 0;
  }

  /** What members have set going with each other since then. `told`: whether one of these was told by another. */
  async since(
    tx: Tx,
    conversationPk: number,
    root: number,
    selectors: readonly string[],
  ): Promise<{ published: number; deliveries: number; told: boolean }> {
    const { rows } = await sql<{ published: number; deliveries: number; told: boolean }>`
      select count(*) filter (where direction = 'outbound' and triggered)::int as published,
        count(*) filter (where direction = 'peer' and state <> 'skipped')::int as deliveries,
        coalesce(bool_or(direction = 'peer' and state <> 'skipped' and selector = any(${[...selectors]}::text[])), false) as told
      from extmsg_deliveries where conversation_pk = ${conversationPk} and root = ${root}`.execute(tx);
    return rows[0]!;
  }

  /**
   * What came as an echo of a publication was not said outside: who was told of it was told by a member, and what was said since goes back
   * to what the publication goes back to. Answers who was told.
   */
  async asPeers(tx: Tx, conversationPk: number, echo: number, root: number): Promise<string[]> {
    await sql`update extmsg_deliveries set root = ${root} where conversation_pk = ${conversationPk} and root = ${echo}`.execute(tx);
    const { rows } = await sql<{ selector: string }>`
      update extmsg_deliveries set direction = 'peer', root = ${root}
      where conversation_pk = ${conversationPk} and sequence = ${echo} and direction = 'inbound' returning selector`.execute(tx);
    return rows.map(({ selector }) => selector);
  }

  /** How many wait, counted up to a limit. */
  async waiting(tx: Tx, conversationPk: number, limit: number): Promise<number> {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from (select from extmsg_deliveries where conversation_pk = ${conversationPk} and state = 'pending'
        and direction = 'outbound' limit ${limit}) w`.execute(tx);
    return rows[0]!.count;
  }

  /** Whether anything waits for a worker that may go out, be its time come or not, or is to end; or no client has come for it in time. */
  readonly isDue = sql<boolean>`(
    (select true from extmsg_deliveries w where ${WAITS} and (w.deadline < clock_timestamp() or ${runs(sql`w.stream_id`)}) order by ${LINE} limit 1) or (
      select w.deadline < clock_timestamp() from extmsg_deliveries w
      where w.state = 'pending' and w.direction = 'outbound' and w.for_clients_of is not null order by w.deadline limit 1))`;

  /**
   * The oldest of each conversation, where its time has come, for a worker; few of each adapter. What connected clients are to take only
   * when that was offered often enough, or long enough: it is marked, and not looked at. What has no mark, as its adapter took no streams then, or
   * as the release before has taken it, gets it here. What cities have that do not run waits for its deadline. Each conversation is found by
   * one look into the index, however much waits in it.
   */
  async claim(tx: Tx, worker: string, places: Places, leaseMs: number, offers: number): Promise<PublicationRow[]> {
    const over = sql`(w.attempts >= ${offers} or w.deadline < clock_timestamp())`;
    const oldest = (among: RawBuilder<unknown>): RawBuilder<unknown> => sql`
      select w.pk, w.conversation_pk, w.not_before, w.worker, w.lease_until, w.deadline < clock_timestamp() as overdue, ${over} as over
      from extmsg_deliveries w where ${WAITS} and ${among} order by ${LINE} limit 1`;
    const { rows } = await sql<{ pk: number }>`
      with recursive first as (
        (${oldest(sql`true`)})
        union all
        select n.* from first f cross join lateral (${oldest(sql`w.conversation_pk > f.conversation_pk`)}) n
      ), lines as materialized (
        select f.*, c.stream_id, c.provider, c.account_id, f.worker is not null and f.lease_until > clock_timestamp() as held,
          coalesce(a.transport = 'stream', false) as streamed, a.pk as adapter_pk
        from first f join extmsg_conversations c on c.pk = f.conversation_pk
          left join extmsg_adapters a on a.stream_id = c.stream_id and a.provider = c.provider and a.account_id = c.account_id
      ), marked as (
        update extmsg_deliveries d set for_clients_of = m.adapter_pk from (
          select w.pk, l.adapter_pk from lines l cross join lateral (
            select w.pk from extmsg_deliveries w where ${WAITS} and w.conversation_pk = l.conversation_pk and not ${over}
            order by ${LINE} for no key update skip locked) w
          where l.streamed and not l.over limit ${MARKED_AT_ONCE}) m
        where d.pk = m.pk
      ), called as (
        select l.*, count(*) filter (where l.held and not l.streamed) over (partition by l.stream_id, l.provider, l.account_id) as calls,
          count(*) filter (where l.held and not l.streamed) over (partition by l.stream_id) as city_calls
        from lines l
      ), free as (
        select l.pk, row_number() over (partition by l.stream_id, l.provider, l.account_id order by l.pk) + l.calls as nth, l.stream_id, l.city_calls
        from called l where not l.held and l.not_before <= clock_timestamp() and (not l.streamed or l.over)
          and (l.overdue or ${runs(sql`l.stream_id`)})
          and not exists (select from extmsg_deliveries o where o.conversation_pk = l.conversation_pk and o.pk < l.pk
            and o.state = 'pending' and o.direction = 'outbound' offset 0)
      ), waiting as (
        select f.pk, row_number() over (partition by f.stream_id order by f.pk) + f.city_calls as turn from free f where f.nth <= ${CALLS_AT_ONCE}
      )
      update extmsg_deliveries d set worker = ${worker}, claim = null, lease_until = clock_timestamp() + ${leaseMs} * interval '1 millisecond', attempts = attempts + 1
      where d.pk in (
        select d.pk from extmsg_deliveries d where d.pk in (${keysByTurn(sql`select pk, turn from waiting`, places)})
          and d.state = 'pending' and (d.worker is null or d.lease_until < clock_timestamp()) for no key update skip locked)
      returning d.pk`.execute(tx);
    if (rows.length === 0) return [];
    const taken = await sql<PublicationRow>`
      select ${ROW} from extmsg_deliveries d join extmsg_conversations c on c.pk = d.conversation_pk
      where d.pk = any(${rows.map(({ pk }) => pk)}::bigint[]) order by d.pk`.execute(tx);
    return taken.rows;
  }

  async renew(worker: string, pks: readonly number[], leaseMs: number): Promise<ReadonlySet<number>> {
    const { rows } = await sql<{ pk: number }>`
      update extmsg_deliveries set lease_until = clock_timestamp() + ${leaseMs} * interval '1 millisecond'
      where pk = any(${[...pks]}::bigint[]) and worker = ${worker} and state = 'pending' and lease_until > clock_timestamp() returning pk`.execute(
      this.db,
    );
    return new Set(rows.map(({ pk }) => pk));
  }

  /** It is this worker's still. Locked until the commit. */
  async held(tx: Tx, pk: number, worker: string): Promise<boolean> {
    const { rows } = await sql`
      select 1 from extmsg_deliveries where pk = ${pk} and worker = ${worker} and state = 'pending' for no key update`.execute(tx);
    return rows.length === 1;
  }

  /**
   * Whether a client has it under this claim. Locked until the commit.
   *
   * @param orReturned also true when the client has said "not delivered" under this claim, and nobody was given it since
   */
  async claimed(tx: Tx, pk: number, claim: string, orReturned: boolean): Promise<boolean> {
    const { rows } = await sql`
      select 1 from extmsg_deliveries
      where pk = ${pk} and claim = ${claim} and (${orReturned} or worker is not null) and state = 'pending' for no key update`.execute(tx);
    return rows.length === 1;
  }

  /** Whether whoever has published may still: the binding that he had is the one that counts, or he has a handle in the group. */
  async isCurrent(tx: Tx, pk: number): Promise<boolean> {
    const { rows } = await sql`
      select 1 from extmsg_deliveries d where d.pk = ${pk} and case when d.generation > 0
        then exists (select from extmsg_bindings b where b.conversation_pk = d.conversation_pk and b.status = 'active' and b.generation = d.generation
          and (b.expires_at is null or b.expires_at > clock_timestamp()))
        else exists (select from extmsg_participants p join extmsg_groups g on g.pk = p.group_pk
          where g.conversation_pk = d.conversation_pk and p.closed_at is null
            and (p.session_pk = d.session_pk or p.agent_name = (select s.named_identity from sessions s where s.pk = d.session_pk)))
          and not exists (select from extmsg_bindings b where b.conversation_pk = d.conversation_pk and b.status = 'active'
            and (b.expires_at is null or b.expires_at > clock_timestamp()))
        end`.execute(tx);
    return rows.length === 1;
  }

  /** Its configured name, if the session has one. */
  async identityOf(tx: Tx, sessionPk: number): Promise<string | undefined> {
    const { rows } = await sql<{ named_identity: string | null }>`select named_identity from sessions where pk = ${sessionPk}`.execute(tx);
    return rows[0]?.named_identity ?? undefined;
  }

  async later(tx: Tx, pk: number, delayMs: number, receipt: StoredReceipt): Promise<void> {
    await sql`
      update extmsg_deliveries set worker = null, lease_until = null, not_before = clock_timestamp() + ${delayMs} * interval '1 millisecond',
        receipt = ${JSON.stringify(receipt)}::jsonb, error_code = ${receipt.kind}, error = ${receipt.error ?? null} where pk = ${pk}`.execute(
      tx,
    );
  }

  /** Another worker takes it up. */
  async giveBack(tx: Tx, pk: number, worker: string): Promise<void> {
    await sql`
      update extmsg_deliveries set worker = null, lease_until = null where pk = ${pk} and worker = ${worker} and state = 'pending'`.execute(
      tx,
    );
  }

  /** The same of what it has not tried. */
  async untried(tx: Tx, pk: number): Promise<void> {
    await sql`update extmsg_deliveries set worker = null, lease_until = null, attempts = attempts - 1 where pk = ${pk}`.execute(tx);
  }

  /** Whether its city runs. */
  async mayGoOut(tx: Tx, pk: number): Promise<boolean> {
    const { rows } = await sql`select 1 from extmsg_deliveries d where d.pk = ${pk} and ${runs(sql`d.stream_id`)}`.execute(tx);
    return rows.length === 1;
  }

  async end(tx: Tx, pk: number, state: 'delivered' | 'failed', receipt: StoredReceipt, sequence?: number): Promise<void> {
    const failed = state === 'failed';
    await sql`
      update extmsg_deliveries set state = ${state}, receipt = ${JSON.stringify(receipt)}::jsonb, sequence = ${sequence ?? null}, worker = null,
        lease_until = null, ended_at = clock_timestamp(), error_code = ${failed ? receipt.kind : null}, error = ${failed ? (receipt.error ?? null) : null}
      where pk = ${pk}`.execute(tx);
  }

  /** What a session has published last, while it has the conversation. */
  async recordContext(tx: Tx, { conversation_pk, session_pk, generation }: PublicationRow, messageId: string): Promise<void> {
    await sql`
      insert into extmsg_contexts (conversation_pk, session_pk, generation, last_message_id, last_published_at)
      select b.conversation_pk, b.session_pk, b.generation, ${messageId}, clock_timestamp() from extmsg_bindings b
      where b.conversation_pk = ${conversation_pk} and b.status = 'active' and b.generation = ${generation} and b.session_pk = ${session_pk}
      on conflict (conversation_pk, session_pk) do update set generation = excluded.generation, last_message_id = excluded.last_message_id,
        last_published_at = excluded.last_published_at`.execute(tx);
  }

  async context(
    db: Kysely<Database>,
    { conversation_pk, session_pk }: PublicationRow,
  ): Promise<{ generation: number; last_message_id: string; last_published_at: Date } | undefined> {
    const { rows } = await sql<{ generation: number; last_message_id: string; last_published_at: Date }>`
      select generation, last_message_id, last_published_at from extmsg_contexts
      where conversation_pk = ${conversation_pk} and session_pk = ${session_pk}`.execute(db);
    return rows[0];
  }
}
