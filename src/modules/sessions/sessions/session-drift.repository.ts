import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';
import { inMicroseconds } from '../../../platform/database/microseconds.js';
import type { Parts } from '../launch/launch.js';
import type { SessionRow } from '../session-store/session-row.js';

export type StartedRow = Pick<
  SessionRow,
  | 'pk'
  | 'id'
  | 'title'
  | 'alias'
  | 'kind'
  | 'template'
  | 'agent'
  | 'rig'
  | 'named_identity'
  | 'state'
  | 'live'
  | 'options'
  | 'launch_hash'
  | 'launch_options'
  | 'accepted_hash'
  | 'stop_request'
  | 'stop_reason'
  | 'ready_at'
> & {
  readonly launch_parts: Parts | null;
  readonly in_turn: boolean;
  readonly asks: boolean;
  /** Its creation in microseconds. */
  readonly place: string;
};

/** What processes were started with. */
@Injectable()
export class SessionDriftRepository {
  constructor(private readonly db: Db) {}

  /** Every session that has a process of which that is known, the newest first, and the head that belongs to them. */
  async started(streamId: number, template: string | undefined): Promise<{ head: number; rows: StartedRow[] }> {
    const { rows } = await sql<StartedRow & { head: number; pk: number | null }>`
      select e.head, p.* from event_streams e
      left join lateral (
        select s.pk, s.id, s.title, s.alias, s.kind, s.template, s.agent, s.rig, s.named_identity, s.state, s.live, s.options, s.launch_hash,
          s.launch_options, s.accepted_hash, s.stop_request, s.stop_reason, s.ready_at, s.launch_parts, l.activity = 'in-turn' as in_turn,
          exists (select from session_interactions i where i.session_pk = s.pk and i.status = 'open') as asks,
          ${inMicroseconds(sql`s.created_at`)} as place, s.created_at
        from sessions s join session_logs l on l.session_pk = s.pk
        where s.stream_id = e.id and s.live and s.launch_hash is not null
          and (${template ?? null}::text is null or s.template = ${template ?? null})
      ) p on true
      where e.id = ${streamId} order by p.created_at desc, p.pk desc`.execute(this.db);
    return { head: rows[0]?.head ?? 0, rows: rows.filter((row) => row.pk !== null) };
  }

  /** Sessions of an agent that have a process, as they are locked. */
  async ofAgent(tx: Tx, streamId: number, agent: string): Promise<number[]> {
    const { rows } = await sql<{ pk: number }>`
      select pk from sessions where stream_id = ${streamId} and agent = ${agent} and live order by pk`.execute(tx);
    return rows.map(({ pk }) => pk);
  }

  async parts(tx: Tx, pk: number): Promise<Parts | null> {
    const { rows } = await sql<{ parts: Parts | null }>`select launch_parts as parts from sessions where pk = ${pk}`.execute(tx);
    return rows[0]?.parts ?? null;
  }
}
