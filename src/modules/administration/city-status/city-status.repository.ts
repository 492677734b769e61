import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Db } from '../../../platform/database/database.js';

/** An open session of an agent. */
export interface StatusSession {
  /** The name under which it works. */
  readonly name: string;
  /** Its agent, qualified. */
  readonly agent: string;
  readonly slot: number | null;
  readonly live: boolean;
  readonly state: string;
  readonly session_name: string;
}

/** What the last cycles of maintenance say of a city's store. */
export interface StoreRow {
  readonly ended_at: Date;
  readonly error: string | null;
  readonly disk: 'ok' | 'warn' | 'critical';
  /** Of the last one that has counted; null when none has. */
  readonly size_bytes: number | null;
  readonly live_rows: number | null;
  readonly warnings: number;
}

/** What the status of a city shows one by one. */
@Injectable()
export class CityStatusRepository {
  constructor(private readonly db: Db) {}

  /** One session a name, a live one before others. */
  async sessions(streamId: number): Promise<StatusSession[]> {
    const { rows } = await sql<StatusSession>`
      select distinct on (agent_name) agent_name as name, agent, slot, live, state, session_name from sessions
      where stream_id = ${streamId} and state <> 'closed' and agent is not null and agent_name is not null
      order by agent_name, live desc, pk desc`.execute(this.db);
    return rows;
  }

  /** The state of the session that each configured name has now. */
  async named(streamId: number): Promise<Map<string, string>> {
    const { rows } = await sql<{ identity: string; state: string }>`
      select distinct on (named_identity) named_identity as identity, state from sessions
      where stream_id = ${streamId} and state <> 'closed' and named_identity is not null order by named_identity, pk desc`.execute(this.db);
    return new Map(rows.map(({ identity, state }) => [identity, state]));
  }

  /** undefined before the first cycle has ended, and where none is wanted any more. */
  async store(streamId: number): Promise<StoreRow | undefined> {
    const { rows } = await sql<StoreRow>`
      select l.finished_at as ended_at, l.error, m.disk, c.after_bytes as size_bytes, c.live_rows, coalesce(jsonb_array_length(c.warnings), 0) as warnings
      from maintenance_cities m
      cross join lateral (select finished_at, error from maintenance_cycles o where o.stream_id = m.stream_id and o.state = 'done' order by o.pk desc limit 1) l
      left join lateral (select after_bytes, live_rows, warnings from maintenance_cycles o
        where o.stream_id = m.stream_id and o.state = 'done' and o.error is null order by o.pk desc limit 1) c on true
      where m.stream_id = ${streamId} and m.settings is not null`.execute(this.db);
    return rows[0];
  }
}
