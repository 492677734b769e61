import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../platform/database/database.js';
import type { Resting } from '../session-store/session-rest.js';

/** The session of an agent or a member that counts: a live one before others, the newest before older ones. */
export interface AgentSession extends Resting {
  readonly id: string;
  /** The name under which it works. */
  readonly name: string;
  /** Its agent, qualified. */
  readonly agent: string;
  readonly slot: number | null;
  readonly session_name: string;
  readonly ready_at: Date | null;
  readonly in_turn: boolean;
  /** It waits for somebody's answer. */
  readonly pending: boolean;
  readonly last_turn_at: Date | null;
  readonly model: string | null;
  readonly context_used: number | null;
  readonly context_window: number | null;
  readonly output: string | null;
  readonly now: Date;
}

const OUTPUT_CHARS = 4_096;

/** What agents do at this moment. */
@Injectable()
export class AgentsRepository {
  constructor(private readonly db: Db) {}

  /** Whether a city is suspended as a whole; undefined when it does not run. */
  async citySuspended(id: number): Promise<boolean | undefined> {
    const { rows } = await sql<{ suspended: boolean }>`
      select coalesce(suspended, suspended_on_start, false) as suspended from cities where id = ${id} and running`.execute(this.db);
    return rows[0]?.suspended;
  }

  /** The bead that each of these works on, the one touched last where there are several. */
  async activeBeads(streamId: number, names: readonly string[]): Promise<Map<string, string>> {
    const { rows } = await sql<{ assignee: string; id: string }>`
      select distinct on (assignee) assignee, id from beads
      where stream_id = ${streamId} and assignee = any(${[...names]}::text[]) and status = 'in_progress'
      order by assignee, updated_at desc, id`.execute(this.db);
    return new Map(rows.map(({ assignee, id }) => [assignee, id]));
  }

  /** One session a name, of those that are not closed. With `peek` what each live one said last. */
  async sessions(streamId: number, peek: boolean): Promise<AgentSession[]> {
    const output = peek
      ? sql`(select right((select string_agg(b ->> 'text', '') from jsonb_array_elements(e.blocks) b where b ->> 'type' = 'text'), ${OUTPUT_CHARS})
          from session_entries e where e.session_pk = s.pk and e.kind = 'message' and e.role <> 'user' order by e.seq desc limit 1)`
      : sql`null::text`;
    const { rows } = await sql<AgentSession>`
      select distinct on (s.agent_name) s.agent_name as name, s.agent, s.slot, s.id, s.session_name, s.state, s.state_at,
        s.reason, s.origin, s.runner_id, s.live, s.ready_at, s.start_deadline, s.not_before, s.quarantined_until, s.circuit_until,
        s.wake_request, s.failed_starts, s.churns, s.failure, l.activity = 'in-turn' as in_turn,
        s.live and exists (select from session_interactions i where i.session_pk = s.pk and i.status = 'open') as pending,
        (select b.id from beads b where b.stream_id = s.stream_id and b.status = 'in_progress' and (b.labels <> '{}' or b.metadata <> '{}')
          and bead_terms(b.stream_id, b.labels, b.metadata) @> bead_terms(s.stream_id, '{}', jsonb_build_object('gc.session_id', s.id))
          and b.metadata ->> 'gc.session_id' = s.id order by b.updated_at desc nulls last, b.id limit 1) as active_bead,
        s.last_turn_at, l.model, l.context_used, l.context_window, case when s.live then ${output} end as output, clock_timestamp() as now
      from sessions s join session_logs l on l.session_pk = s.pk
      where s.stream_id = ${streamId} and s.state <> 'closed' and s.agent is not null and s.agent_name is not null
      order by s.agent_name, s.live desc, s.pk desc`.execute(this.db);
    return rows;
  }
}
