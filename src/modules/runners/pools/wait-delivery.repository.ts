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
  readonly nudge_id: string;
  /** The session it is for. */
  readonly session_pk: number;
  /** The conversation that it was registered in; null for any. */
  readonly epoch: number | null;
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

/** SQL of telling sessions that what they waited for has happened. */
@Injectable()
export class WaitDeliveryRepository {
  constructor(private readonly db: Db) {}

  /** Ready waits of sessions that are not closed, the oldest first. */
  async ready(streamId: number): Promise<ReadyWait[]> {
    const { rows } = await sql<ReadyWait>`
      select b.id, b.title, b.description as note, b.metadata ->> 'nudge_id' as nudge_id, s.pk as session_pk,
        case when b.metadata ? 'registered_session' then (b.metadata ->> 'registered_epoch')::int end as epoch, m.status, m.error_message as error
      from beads b
      join lateral (
        select s.pk from sessions s where s.stream_id = b.stream_id and s.state <> 'closed' and case
          when b.metadata ? 'registered_session' then s.id = b.metadata ->> 'registered_session'
          else b.metadata ->> 'session_id' in (s.id, s.session_name, s.alias, s.agent_name, s.named_identity) end
        order by s.live desc, s.pk desc limit 1
      ) s on true
      left join lateral (
        select m.status, m.error_message from session_messages m
        where m.session_pk = s.pk and m.source = 'wait' and m.reference = b.metadata ->> 'nudge_id' order by m.pk desc limit 1
      ) m on true
      where ${isWaitIn(streamId, 'ready')} and (m.status is null or m.status not in ('queued', 'in_flight'))
      order by b.created_at, b.id limit ${BATCH}`.execute(this.db);
    return rows;
  }

  /** Whether the note is on its way already, or has been. */
  async isSent(tx: Tx, sessionPk: number, nudgeId: string): Promise<boolean> {
    const { rows } = await sql`
      select 1 from session_messages where session_pk = ${sessionPk} and source = 'wait' and reference = ${nudgeId} limit 1`.execute(tx);
    return rows.length > 0;
  }
}
