import { Injectable } from '@nestjs/common';
import { sql, type Kysely } from 'kysely';
import type { Database } from '../../../platform/database/database.js';
import type { StopRequest } from '../../sessions/session-store/session-states.js';

export interface InboxAnswer {
  readonly pk: number;
  /** What the agent's runtime calls the question. */
  readonly runtimeId: string;
  readonly action: string;
  readonly text: string | null;
}

export interface InboxCommand {
  readonly pk: number;
  readonly kind: 'interrupt' | 'set_option';
  readonly body: Readonly<Record<string, unknown>>;
}

/** What one session of a runner is to be told. */
export interface InboxItem {
  readonly pk: number;
  readonly generation: number;
  readonly stop: StopRequest | null;
  /** The deadline of the wish to stop has passed. */
  readonly overdue: boolean;
  /** A message waits that may be delivered now. */
  readonly queued: boolean;
  /** The message among them that ends the current turn. */
  readonly interrupting: number | null;
  readonly answers: readonly InboxAnswer[];
  readonly commands: readonly InboxCommand[];
}

export interface Inbox {
  /** The generations of the sessions that it holds, by their pks. */
  readonly held: ReadonlyMap<number, number>;
  /** Of those that are told something. */
  readonly items: readonly InboxItem[];
}

@Injectable()
export class InboxRepository {
  /** Whether any runner has sessions. */
  readonly isHeld = sql<boolean>`(select true from sessions s where s.runner_id is not null order by s.runner_id limit 1)`;

  /**
   * Everything for everything that a runner holds, or for some of that: one statement a look, however many sessions. One at all of them is made each
   * second, so what it says of each has to be short: with 200 sessions a row and five questions for each took half of what a worker did; what each is
   * called, and of which city it is, took two fifths of the look that is left.
   */
  async read(db: Kysely<Database>, runnerId: string, some?: readonly number[]): Promise<Inbox> {
    const asked = some === undefined ? sql`true` : sql`s.pk = any(${[...some]}::bigint[])`;
    const { rows } = await sql<{
      held: readonly [pks: readonly number[] | null, generations: readonly number[]];
      items: readonly InboxItem[];
    }>`
      with own as materialized (
        select s.pk, s.generation, s.stop_request, s.stop_deadline from sessions s where s.runner_id = ${runnerId} and ${asked}
      ), mail as (
        select m.session_pk, min(m.pk) filter (where m.intent = 'interrupt_now') as interrupting from session_messages m
        where m.session_pk = any(array(select pk from own)) and m.status = 'queued' and m.deliver_after <= clock_timestamp() and m.expires_at > clock_timestamp()
        group by m.session_pk
      ), answers as (
        select i.session_pk, i.generation,
          json_agg(json_build_object('pk', i.pk, 'runtimeId', coalesce(i.runtime_id, i.request_id), 'action', i.action, 'text', i.answer ->> 'text') order by i.pk) as items
        from session_interactions i where i.session_pk = any(array(select pk from own)) and i.status = 'answered' and not i.applied
        group by i.session_pk, i.generation
      ), commands as (
        select c.session_pk, c.generation, json_agg(json_build_object('pk', c.pk, 'kind', c.kind, 'body', c.body) order by c.pk) as items
        from session_commands c where c.session_pk = any(array(select pk from own)) and c.status = 'waiting'
        group by c.session_pk, c.generation
      )
      select
        (select json_build_array(json_agg(pk), json_agg(generation)) from own) as held,
        coalesce((select json_agg(json_build_object('pk', s.pk, 'generation', s.generation, 'stop', s.stop_request,
            'overdue', coalesce(s.stop_deadline <= clock_timestamp(), false), 'queued', m.session_pk is not null, 'interrupting', m.interrupting,
            'answers', coalesce(a.items, '[]'), 'commands', coalesce(c.items, '[]')))
          from own s left join mail m on m.session_pk = s.pk
          left join answers a on a.session_pk = s.pk and a.generation = s.generation
          left join commands c on c.session_pk = s.pk and c.generation = s.generation
          where s.stop_request is not null or m.session_pk is not null or a.items is not null or c.items is not null), '[]') as items`.execute(
      db,
    );
    const {
      held: [pks, generations],
      items,
    } = rows[0]!;
    return { held: new Map(pks?.map((pk, n) => [pk, generations[n]!])), items };
  }
}
