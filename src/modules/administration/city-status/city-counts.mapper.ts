import type { SessionRest } from '../../../contract/sessions.schemas.js';
import { VERSION } from '../../../contract/version.js';
import { restOf } from '../../sessions/session-store/session-rest.js';
import type { RestingRow, RestingRows, StatusRow } from './city-counts.repository.js';
import type { StatusBody } from './city-status.schemas.js';

/** What is not started for now: sessions, and pools by their names. */
type Resting = RestingRows & { readonly pools: ReadonlyMap<string, SessionRest> };

/** Counts of what a city has: agents and rigs of its config, its unfinished work, its mail and its sessions. `running` counts those with a process. */
export function toStatus(row: StatusRow, lite: boolean, resting: Resting, waiting: NonNullable<StatusBody['waiting']>): StatusBody {
  const { suspended } = row;
  return {
    name: row.name,
    path: row.dir,
    version: VERSION,
    uptime_sec: row.uptime,
    suspended,
    agent_count: row.agent_count,
    rig_count: row.rig_count,
    running: row.live,
    agents: {
      total: row.agent_count,
      running: row.live_agents,
      suspended: suspended ? row.agent_count : 0,
      quarantined: row.quarantined_agents,
    },
    rigs: { total: row.rig_count, suspended: suspended ? row.rig_count : 0 },
    work: { in_progress: row.in_progress, ready: row.ready, open: row.open },
    mail: { unread: row.unread, total: row.mail },
    ...restingOf(resting),
    ...(waiting.length === 0 ? {} : { waiting }),
    ...(lite ? {} : { session_counts_detail: { active: row.active_sessions, suspended: row.suspended_sessions } }),
  };
}

function restingOf({ total, rows, pools }: Resting): Pick<StatusBody, 'resting'> {
  if (total + pools.size === 0) return {};
  const items = [...rows.flatMap(toRest), ...[...pools].map(([name, rest]) => ({ name, ...rest }))];
  return { resting: { total: total + pools.size, items } };
}

function toRest(row: RestingRow): NonNullable<StatusBody['resting']>['items'] {
  const rest = restOf(row, row.now);
  return rest === undefined ? [] : [{ session_id: row.id, name: row.name, ...rest }];
}
