import { Injectable } from '@nestjs/common';
import { PgPool } from '../../../platform/database/database.js';

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

/** What a status shows one by one, all of one moment. */
export interface ShownRow {
  /** One a name, a live one before others. */
  readonly sessions: readonly StatusSession[];
  /** The state of the session that each configured name has now. */
  readonly named: ReadonlyMap<string, string>;
  /** Undefined before the first cycle has ended, and where none is wanted any more. */
  readonly store: StoreRow | undefined;
}

interface Row {
  readonly sessions: StatusSession[];
  readonly named: { readonly identity: string; readonly state: string }[];
  readonly store: (Omit<StoreRow, 'ended_at'> & { readonly ended_at: string }) | null;
}

@Injectable()
export class CityStatusRepository {
  constructor(private readonly pool: PgPool) {}

  /** In one statement: whoever asks beside somebody who asks for much waits for a turn with each. */
  async shown(streamId: number): Promise<ShownRow> {
    const { rows } = await this.pool.query<Row>({
      name: 'city-status-shown',
      text: `select (
          select coalesce(jsonb_agg(x order by x.name), '[]') from (
            select distinct on (agent_name) agent_name as name, agent, slot, live, state, session_name from sessions
            where stream_id = $1 and state <> 'closed' and agent is not null and agent_name is not null
            order by agent_name, live desc, pk desc) x
        ) as sessions, (
          select coalesce(jsonb_agg(x), '[]') from (
            select distinct on (named_identity) named_identity as identity, state from sessions
            where stream_id = $1 and state <> 'closed' and named_identity is not null order by named_identity, pk desc) x
        ) as named, (
          select to_jsonb(x) from (
            select l.finished_at as ended_at, l.error, m.disk, c.after_bytes as size_bytes, c.live_rows,
              coalesce(jsonb_array_length(c.warnings), 0) as warnings
            from maintenance_cities m
            cross join lateral (select finished_at, error from maintenance_cycles o where o.stream_id = m.stream_id and o.state = 'done' order by o.pk desc limit 1) l
            left join lateral (select after_bytes, live_rows, warnings from maintenance_cycles o
              where o.stream_id = m.stream_id and o.state = 'done' and o.error is null order by o.pk desc limit 1) c on true
            where m.stream_id = $1 and m.settings is not null) x
        ) as store`,
      values: [streamId],
    });
    const { sessions, named, store } = rows[0]!;
    return {
      sessions,
      named: new Map(named.map(({ identity, state }) => [identity, state])),
      store: store === null ? undefined : { ...store, ended_at: new Date(store.ended_at) },
    };
  }
}
