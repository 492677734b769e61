import { Injectable } from '@nestjs/common';
import { PgPool } from '../../../platform/database/database.js';
import { CAUSED, CHURN_MS, ENDS_BY_HAND, MAX_CHURN_MS, type Resting } from '../../sessions/session-store/session-rest.js';

/** What the status of a city shows: beside its own row, the head of its log, its unfinished beads, its mail and its sessions. */
export type StatusRow = Readonly<Record<'name' | 'dir', string>> &
  Readonly<Record<'agent_count' | 'rig_count' | 'uptime', number>> &
  Readonly<Record<'stream_id' | 'head' | 'open' | 'in_progress' | 'ready' | 'mail' | 'unread', number>> &
  Readonly<Record<'live' | 'active_sessions' | 'suspended_sessions' | 'live_agents' | 'quarantined_agents', number>> &
  WantingRow & {
    /** A person's choice wins over what the files say. */
    readonly suspended: boolean;
  };

/** A session that is not started for now, as far as its row says it. */
export type RestingRow = Resting & { readonly id: string; readonly name: string; readonly now: Date };
export interface RestingRows {
  readonly total: number;
  /** The first of them. */
  readonly rows: readonly RestingRow[];
}
const RESTING_SHOWN = 20;

/** Sessions of a city that have been wanted for 2 s and that no runner has, and the places there are. */
export interface WantingRow {
  readonly waiting: number;
  readonly places: number;
  readonly taken: number;
  readonly runners: number;
  /** Of those that are taken. */
  readonly own: number;
}

const COUNTS = `cross join lateral (
    select count(*) filter (where b.status = 'open') as open, count(*) filter (where b.status = 'in_progress') as in_progress,
      (select count(*) from beads b where b.stream_id = c.stream_id and bead_is_ready(b)) as ready
    from beads b where b.stream_id = c.stream_id and b.status <> 'closed'
  ) w cross join lateral mail_counts(c.stream_id) m cross join lateral (
    select count(*) filter (where x.live) as live, count(*) filter (where x.state in ('creating', 'active', 'draining')) as active_sessions,
      count(*) filter (where x.state = 'suspended') as suspended_sessions,
      count(distinct x.agent) filter (where x.live) as live_agents,
      count(distinct x.agent) filter (where x.state = 'quarantined') as quarantined_agents
    from sessions x where x.stream_id = c.stream_id and x.state <> 'closed'
  ) n cross join lateral (
    select coalesce(sum(r.capacity), 0)::int as places, count(*)::int as runners,
      coalesce(sum((select count(*) from sessions x where x.runner_id = r.id)), 0)::int as taken
    from runners r where r.state = 'active' and r.lease_until > clock_timestamp()
  ) p cross join lateral (
    select (select count(*) from sessions x where x.stream_id = c.stream_id and x.wake_request is not null and x.runner_id is null
        and x.state in ('start-pending', 'asleep') and x.stop_request is null
        and greatest(x.wake_requested_at, x.not_before, x.held_until, x.quarantined_until) < clock_timestamp() - interval '2 s')::int as waiting,
      (select count(*) from sessions x where x.stream_id = c.stream_id and x.runner_id is not null)::int as own
  ) q`;
const NOT_COUNTED = `0 as waiting, 0 as places, 0 as taken, 0 as runners, 0 as own, 0 as open, 0 as in_progress, 0 as ready, 0 as mail, 0 as unread, 0 as live, 0 as active_sessions, 0 as suspended_sessions,
  0 as live_agents, 0 as quarantined_agents`;
const COLUMNS = `c.name, c.dir, coalesce(c.suspended, c.suspended_on_start) as suspended, c.agent_count, c.rig_count,
  floor(date_part('epoch', now() - coalesce(c.started_at, now()))) as uptime`;

/** All SQL about what the status of a city counts. */
@Injectable()
export class CityCountsRepository {
  constructor(private readonly pool: PgPool) {}

  /** A running city with the head of its stream and, when asked, the counts of its work, mail and sessions, in one snapshot. */
  async load(name: string, counted: boolean): Promise<StatusRow | undefined> {
    const { rows } = await this.pool.query<StatusRow>({
      name: counted ? 'city-status-counted' : 'city-status',
      text: `select ${COLUMNS}, s.id as stream_id, s.head, ${counted ? 'w.*, m.total as mail, m.unread, n.*, p.*, q.*' : NOT_COUNTED}
        from cities c join event_streams s on s.id = c.stream_id ${counted ? COUNTS : ''} where c.name = $1 and c.running`,
      values: [name],
    });
    return rows[0];
  }

  async resting(name: string): Promise<RestingRows> {
    const { rows } = await this.pool.query<RestingRow & { total: number }>({
      name: 'city-resting',
      text: `select count(*) over ()::int as total, x.id, coalesce(x.agent_name, x.session_name) as name, x.state, x.state_at, x.reason,
          x.origin, x.runner_id, x.live, x.wake_request, x.start_deadline, x.not_before, x.quarantined_until, x.circuit_until, x.failed_starts, x.churns,
          x.failure, h.id as active_bead, clock_timestamp() as now
        from cities c join sessions x on x.stream_id = c.stream_id
        left join lateral (select b.id from beads b where x.churns > 0 and x.state = 'asleep' and x.wake_request is null
          and x.state_at + least($3::float8, $4::float8 * 2 ^ least(x.churns - 1, 30)) * interval '1 ms' > clock_timestamp()
          and coalesce(x.reason, '') <> all($5::text[])
          and b.stream_id = x.stream_id and b.status = 'in_progress' and (b.labels <> '{}' or b.metadata <> '{}')
          and bead_terms(b.stream_id, b.labels, b.metadata) @> bead_terms(x.stream_id, '{}', jsonb_build_object('gc.session_id', x.id))
          and b.metadata ->> 'gc.session_id' = x.id order by b.updated_at desc nulls last, b.id limit 1) h on true
        where c.name = $1 and x.state <> 'closed' and not x.live and x.runner_id is null and (x.state in ('failed-create', 'quarantined')
          or x.state in ('asleep', 'start-pending') and (x.not_before > clock_timestamp() or x.reason = any($2::text[])) or h.id is not null)
        order by x.pk limit ${RESTING_SHOWN}`,
      values: [name, ENDS_BY_HAND, MAX_CHURN_MS, CHURN_MS, CAUSED],
    });
    return { total: rows[0]?.total ?? 0, rows };
  }
}
