import { Injectable } from '@nestjs/common';
import { sql, type Kysely } from 'kysely';
import type { Database } from '../../../platform/database/database.js';
import type { SessionState, StopRequest } from '../../sessions/session-store/session-states.js';

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
  readonly id: string;
  readonly streamId: number;
  readonly generation: number;
  readonly state: SessionState;
  readonly stop: StopRequest | null;
  /** The deadline of the wish to stop has passed. */
  readonly overdue: boolean;
  /** A message waits that may be delivered now. */
  readonly queued: boolean;
  /** The message among them that ends the current turn. */
  readonly interrupting: number | null;
  readonly asks: boolean;
  readonly answers: readonly InboxAnswer[];
  readonly commands: readonly InboxCommand[];
}

const QUEUED = sql`m.session_pk = s.pk and m.status = 'queued' and m.deliver_after <= clock_timestamp() and m.expires_at > clock_timestamp()`;

@Injectable()
export class InboxRepository {
  /** Whether any runner has sessions. */
  readonly isHeld = sql<boolean>`(select true from sessions s where s.runner_id is not null order by s.runner_id limit 1)`;

  /** Everything for everything that a runner holds: one statement a look, however many sessions. */
  async read(db: Kysely<Database>, runnerId: string): Promise<InboxItem[]> {
    const { rows } = await sql<InboxItem>`
      select s.pk, s.id, s.stream_id as "streamId", s.generation, s.state, s.stop_request as stop,
        coalesce(s.stop_deadline <= clock_timestamp(), false) as overdue,
        exists (select from session_messages m where ${QUEUED}) as queued,
        (select m.pk from session_messages m where ${QUEUED} and m.intent = 'interrupt_now' order by m.pk limit 1) as interrupting,
        exists (select from session_interactions i where i.session_pk = s.pk and i.status = 'open') as asks,
        coalesce((select json_agg(json_build_object('pk', i.pk, 'runtimeId', coalesce(i.runtime_id, i.request_id), 'action', i.action, 'text', i.answer ->> 'text') order by i.pk)
          from session_interactions i
          where i.session_pk = s.pk and i.status = 'answered' and not i.applied and i.generation = s.generation), '[]') as answers,
        coalesce((select json_agg(json_build_object('pk', c.pk, 'kind', c.kind, 'body', c.body) order by c.pk)
          from session_commands c
          where c.session_pk = s.pk and c.status = 'waiting' and c.generation = s.generation), '[]') as commands
      from sessions s where s.runner_id = ${runnerId}`.execute(db);
    return rows;
  }
}
