import { Injectable } from '@nestjs/common';
import { sql, type Kysely, type RawBuilder } from 'kysely';
import { storable, storableText } from '../../../contract/storable.js';
import type { Database } from '../../../platform/database/database.js';
import { fitted, fitting, PAGE_BYTES, wholePage, type Fitted } from '../../../platform/database/page-bytes.js';
import type { Tx } from '../../../platform/database/transactions.js';
import { fromMicroseconds, inMicroseconds } from '../../../platform/database/microseconds.js';
import type { InteractionRow, NewInteraction } from './interaction-row.js';

const ROW = sql`i.pk, i.stream_id, i.session_pk, i.request_id, coalesce(i.runtime_id, i.request_id) as runtime_id, i.generation, i.kind, i.prompt,
  i.options, i.metadata, i.status, i.action, i.answer, i.answered_by, i.applied, i.opened_rev, i.closed_rev, i.opened_at, i.closed_at`;

/** What a list tells of a question `i` and its session `s`. */
const LISTED = sql`i.pk, i.request_id, i.kind, i.prompt, i.options, i.metadata, i.opened_at, ${inMicroseconds(sql`i.opened_at`)} as us,
  s.id as session_id, s.title, s.alias, s.template, coalesce(s.agent_name, s.agent) as agent`;

const past = (from: { us: string; pk: number } | undefined): RawBuilder<unknown> =>
  from === undefined ? sql`` : sql`and (i.opened_at, i.pk) > (${fromMicroseconds(from.us)}, ${from.pk}::bigint)`;

/** The log's next position, with its row locked: to be joined as `l`. */
const nextRev = (sessionPk: number): RawBuilder<unknown> =>
  sql`l as (update session_logs set head = head + 1 where session_pk = ${sessionPk} returning head)`;

export interface Answer {
  readonly action: string;
  readonly by: string;
  readonly text?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly said: string;
}

/** A question as it is shown. */
export type ShownRow = Pick<InteractionRow, 'request_id' | 'kind' | 'prompt' | 'options' | 'metadata' | 'opened_at'>;

/** A question with what a list says about its session. */
export interface CityPendingRow extends ShownRow {
  readonly pk: number;
  readonly session_id: string;
  readonly title: string;
  readonly alias: string;
  readonly agent: string | null;
  readonly template: string;
  /** Microseconds since 1970, as text. */
  readonly us: string;
}

/** SQL of questions. Changes happen under the lock of the session's row. */
@Injectable()
export class InteractionsRepository {
  /** The open question of this process under the runtime's id, if any. */
  async openOne(tx: Tx, session: { pk: number; generation: number }, runtimeId: string): Promise<InteractionRow | undefined> {
    const { rows } = await sql<InteractionRow>`
      select ${ROW} from session_interactions i where i.session_pk = ${session.pk} and i.status = 'open'
        and i.generation = ${session.generation} and coalesce(i.runtime_id, i.request_id) = ${runtimeId}`.execute(tx);
    return rows[0];
  }

  async exists(tx: Tx, pk: number): Promise<boolean> {
    const { rows } = await sql`select from session_interactions where pk = ${pk}`.execute(tx);
    return rows.length > 0;
  }

  /** Under the runtime's id, or one made of it where an older question has that. */
  async insert(tx: Tx, session: { pk: number; stream_id: number; generation: number }, q: NewInteraction): Promise<InteractionRow> {
    const { rows } = await sql<InteractionRow>`
      with ${nextRev(session.pk)}
      insert into session_interactions as i (stream_id, session_pk, request_id, runtime_id, generation, kind, prompt, options, metadata, opened_rev)
      select ${session.stream_id}, ${session.pk}, case when exists (
          select from session_interactions o where o.session_pk = ${session.pk} and o.request_id = ${q.requestId}::text)
          then ${q.requestId}::text || '.' || l.head else ${q.requestId}::text end,
        ${q.requestId}, ${session.generation}, ${q.kind}, ${storableText(q.prompt)}, ${storable(q.options)}::jsonb, ${storable(q.metadata ?? {})}::jsonb, l.head
      from l returning ${ROW}`.execute(tx);
    return rows[0]!;
  }

  /** Open ones of the session's process, oldest first. */
  async open(db: Kysely<Database>, session: { pk: number; generation: number }): Promise<InteractionRow[]> {
    const { rows } = await sql<InteractionRow>`
      select ${ROW} from session_interactions i
      where i.session_pk = ${session.pk} and i.status = 'open' and i.generation = ${session.generation} order by i.pk`.execute(db);
    return rows;
  }

  /** The same with the head of the city's stream, in one snapshot; as many as fit on a page. */
  async session(
    db: Kysely<Database>,
    streamId: number,
    session: { pk: number; generation: number },
  ): Promise<{ readonly head: number; readonly items: readonly ShownRow[] }> {
    const { rows } = await sql<{ head: number; items: readonly ShownRow[] }>`
      select e.head, (
        select coalesce(json_agg(json_build_object('request_id', i.request_id, 'kind', i.kind, 'prompt', i.prompt, 'options', i.options,
          'metadata', i.metadata, 'opened_at', i.opened_at) order by i.pk), '[]')
        from (
          select o.*, row_number() over w as nth, sum(octet_length(o.prompt) + octet_length(o.options::text) + octet_length(o.metadata::text)) over w as upto
          from session_interactions o
          where o.session_pk = ${session.pk} and o.status = 'open' and o.generation = ${session.generation}
          window w as (order by o.pk rows unbounded preceding)
        ) i where i.nth = 1 or i.upto <= ${PAGE_BYTES}
      ) as items
      from event_streams e where e.id = ${streamId}`.execute(db);
    const { head, items } = rows[0]!;
    return { head, items: items.map((item) => ({ ...item, opened_at: new Date(item.opened_at) })) };
  }

  async byRequestId(db: Kysely<Database>, sessionPk: number, requestId: string): Promise<InteractionRow | undefined> {
    const { rows } = await sql<InteractionRow>`
      select ${ROW} from session_interactions i where i.session_pk = ${sessionPk} and i.request_id = ${requestId}`.execute(db);
    return rows[0];
  }

  /** The one answer that counts: undefined when it is open no longer. */
  async answer(tx: Tx, sessionPk: number, pk: number, { action, by, text, metadata, said }: Answer): Promise<InteractionRow | undefined> {
    const { rows } = await sql<InteractionRow>`
      with ${nextRev(sessionPk)}
      update session_interactions i set status = 'answered', action = ${action}, answer = ${JSON.stringify({ text, metadata, said })}::jsonb,
        answered_by = ${by}, closed_rev = l.head, closed_at = clock_timestamp()
      from l where i.pk = ${pk} and i.session_pk = ${sessionPk} and i.status = 'open' returning ${ROW}`.execute(tx);
    return rows[0];
  }

  /** Closes open questions of a session unanswered, each at a position of its own; `pk` names one. Oldest first. */
  async cancel(tx: Tx, sessionPk: number, pk?: number): Promise<InteractionRow[]> {
    const { rows } = await sql<InteractionRow>`
      with o as (
        select pk, row_number() over (order by pk) as n, count(*) over () as total from session_interactions
        where session_pk = ${sessionPk} and status = 'open' and (${pk ?? null}::bigint is null or pk = ${pk ?? null}::bigint)
      ), l as (
        update session_logs set head = head + (select max(total) from o)
        where session_pk = ${sessionPk} and exists (select from o) returning head
      )
      update session_interactions i set status = 'cancelled', closed_rev = l.head - o.total + o.n, closed_at = clock_timestamp()
      from o, l where i.pk = o.pk and i.status = 'open' returning ${ROW}`.execute(tx);
    return rows.sort((a, b) => a.pk - b.pk);
  }

  async applied(tx: Tx, pks: readonly number[]): Promise<void> {
    await sql`update session_interactions set applied = true where pk = any(${[...pks]}::bigint[])`.execute(tx);
  }

  /** Answers that nobody is there to hear any more. */
  async forgetAnswers(tx: Tx, sessionPk: number): Promise<void> {
    await sql`update session_interactions set applied = true where session_pk = ${sessionPk} and status = 'answered' and not applied`.execute(
      tx,
    );
  }

  /** A page of those in all running cities, or in these, with the number of all, in one snapshot. */
  async everywhere(
    db: Kysely<Database>,
    cities: readonly string[] | undefined,
    limit: number,
    from: { us: string; pk: number } | undefined,
  ): Promise<{ readonly total: number; readonly items: readonly (CityPendingRow & { readonly city: string })[]; readonly more: boolean }> {
    const open = sql`session_interactions i join cities c on c.stream_id = i.stream_id and c.running
      and (${cities === undefined} or c.name = any(${[...(cities ?? [])]}::text[]))`;
    const found = sql`
      select r.*, octet_length(row_to_json(r)::text) as bytes from (
        select ${LISTED}, c.name as city from ${open} join sessions s on s.pk = i.session_pk
        where i.status = 'open' ${past(from)} order by i.opened_at, i.pk limit ${limit + 1}
      ) r`;
    const { rows } = await sql<CityPendingRow & Fitted & { city: string; total: number }>`
      select t.total, p.* from (select count(*)::int as total from ${open} where i.status = 'open') t
      left join (${fitting(found, sql`opened_at, pk`, wholePage(limit))}) p on true order by p.opened_at, p.pk`.execute(db);
    const page = fitted(rows.filter((row) => (row.pk as number | null) !== null));
    return { total: rows[0]!.total, items: page.rows, more: page.more };
  }

  /** A page, oldest question first, with the number of all and the head of the city's stream, in one snapshot. */
  async city(
    db: Kysely<Database>,
    streamId: number,
    limit: number,
    from: { us: string; pk: number } | undefined,
  ): Promise<{ readonly head: number; readonly total: number; readonly items: readonly CityPendingRow[]; readonly more: boolean }> {
    const found = sql`
      select r.*, octet_length(row_to_json(r)::text) as bytes from (
        select ${LISTED} from session_interactions i join sessions s on s.pk = i.session_pk
        where i.stream_id = ${streamId} and i.status = 'open' ${past(from)} order by i.opened_at, i.pk limit ${limit + 1}
      ) r`;
    const { rows } = await sql<CityPendingRow & Fitted & { head: number; total: number }>`
      select e.head, (select count(*)::int from session_interactions i where i.stream_id = e.id and i.status = 'open') as total, p.*
      from event_streams e left join (${fitting(found, sql`opened_at, pk`, wholePage(limit))}) p on true
      where e.id = ${streamId} order by p.opened_at, p.pk`.execute(db);
    const { head, total } = rows[0]!;
    const page = fitted(rows.filter((row) => (row.pk as number | null) !== null));
    return { head, total, items: page.rows, more: page.more };
  }
}
