import { Injectable } from '@nestjs/common';
import { sql, type RawBuilder } from 'kysely';
import { Db } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';
import type { LiveWaitState } from '../../work/work/wait-states.js';

/** A ready wait whose session is one of ours. */
export interface ReadyWait {
  readonly id: string;
  readonly title: string;
  readonly note: string | null;
  /** What makes its nudge: whoever may change the bead may have written it. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The session it is for. */
  readonly session_pk: number;
  /** The conversation that it was registered in, as its metadata say; null for any. */
  readonly epoch: string | null;
  /** What became of its note; null before it was queued. */
  readonly status: string | null;
  readonly error: string | null;
}

const BATCH = 100;

/** A wait in this state. The index over terms finds those that are among all that a city ever had. */
export const isWaitIn = (streamId: number, state: LiveWaitState): RawBuilder<boolean> => sql<boolean>`
  b.stream_id = ${streamId} and b.issue_type = 'gate' and b.status <> 'closed' and b.labels @> '{gc:wait}' and b.metadata ->> 'state' = ${state}
  and (b.labels <> '{}' or b.metadata <> '{}')
  and bead_terms(b.stream_id, b.labels, b.metadata) @> bead_terms(${streamId}, '{gc:wait}', jsonb_build_object('state', ${state}::text))`;

/** The last message with this nudge to this session, or one to another session which had the name then: a name may move on. */
const sent = (streamId: RawBuilder<unknown>, sessionPk: RawBuilder<unknown>, nudgeId: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  (select m.pk, m.status, m.error_message from session_messages m
    where m.session_pk = ${sessionPk} and m.source = 'wait' and m.reference = ${nudgeId} order by m.pk desc limit 1)
  union all
  (select m.pk, m.status, m.error_message from session_messages m
    where m.stream_id = ${streamId} and m.source = 'wait' and m.reference = ${nudgeId} and m.status in ('queued', 'in_flight', 'delivered') limit 1)
  order by pk desc limit 1`;

/** SQL of telling sessions that what they waited for has happened. */
@Injectable()
export class WaitDeliveryRepository {
  constructor(private readonly db: Db) {}

  /** Ready waits of sessions that are not closed, the oldest first. */
  async ready(streamId: number): Promise<ReadyWait[]> {
    const { rows } = await sql<ReadyWait>`
      select b.id, b.title, b.description as note, s.pk as session_pk, m.status, m.error_message as error,
        jsonb_strip_nulls(jsonb_build_object('nudge_id', b.metadata -> 'nudge_id', 'registered_epoch', b.metadata -> 'registered_epoch',
          'delivery_attempt', b.metadata -> 'delivery_attempt')) as metadata,
        case when b.metadata ? 'registered_session' then b.metadata ->> 'registered_epoch' end as epoch
      from beads b
      join lateral (
        select s.pk from sessions s where s.stream_id = b.stream_id and s.state <> 'closed' and case
          when b.metadata ? 'registered_session' then s.id = b.metadata ->> 'registered_session'
          else b.metadata ->> 'session_id' in (s.id, s.session_name, s.alias, s.agent_name, s.named_identity) end
        order by s.live desc, s.pk desc limit 1
      ) s on true
      left join lateral (${sent(sql`b.stream_id`, sql`s.pk`, sql`b.metadata ->> 'nudge_id'`)}) m on true
      where ${isWaitIn(streamId, 'ready')} and (m.status is null or m.status not in ('queued', 'in_flight'))
      order by b.created_at, b.id limit ${BATCH}`.execute(this.db);
    return rows;
  }

  /** Whether a wait still has something to tell. */
  async isReady(tx: Tx, streamId: number, id: string): Promise<boolean> {
    const { rows } = await sql`
      select 1 from beads b where b.stream_id = ${streamId} and b.id = ${id} and b.status <> 'closed' and b.metadata ->> 'state' = 'ready'`.execute(
      tx,
    );
    return rows.length > 0;
  }

  /** Whether the note is on its way already, or has been. */
  async isSent(tx: Tx, streamId: number, sessionPk: number, nudgeId: string): Promise<boolean> {
    const { rows } = await sent(sql`${streamId}::integer`, sql`${sessionPk}::bigint`, sql`${nudgeId}::text`).execute(tx);
    return rows.length > 0;
  }
}
