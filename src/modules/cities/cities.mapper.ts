import type { SessionRest } from '../../contract/sessions.schemas.js';
import { VERSION } from '../../contract/version.js';
import { restOf } from '../sessions/session-rest.js';
import type { CityListRow, RestingRow, RestingRows, RunningCityRow, StatusRow } from './cities.repository.js';
import type { CityGetResponse, CityInfo, HealthOutputBody, StatusBody } from './cities.schemas.js';
import { phasesCompleted } from './city-phases.js';

export function toCityInfo({ name, dir: path, state }: CityListRow): CityInfo {
  if (state === null) return { name, path, running: true, status: 'running' };
  const { phase } = state;
  if (phase !== 'init_failed') {
    const completed = phasesCompleted(phase);
    return { name, path, running: false, status: phase, ...(completed === undefined ? {} : { phases_completed: completed }) };
  }
  return {
    name,
    path,
    running: false,
    status: phase,
    ...(state.error === null ? {} : { error: state.error }),
    ...(state.failure_code === null ? {} : { error_code: state.failure_code }),
    ...(state.failure_class === null ? {} : { failure_class: state.failure_class }),
    ...(state.next_retry_at === null ? {} : { next_retry_at: new Date(state.next_retry_at).toISOString() }),
  };
}

/** A person's choice wins over what the config says. */
function isSuspended(row: RunningCityRow): boolean {
  return row.suspended ?? row.suspended_on_start;
}

export function toCity(row: RunningCityRow): CityGetResponse {
  return {
    name: row.name,
    path: row.dir,
    version: VERSION,
    suspended: isSuspended(row),
    uptime_sec: row.uptime,
    agent_count: row.agent_count,
    rig_count: row.rig_count,
    ...(row.provider === null ? {} : { provider: row.provider }),
    ...(row.session_template === null ? {} : { session_template: row.session_template }),
  };
}

export function toHealth(row: RunningCityRow): HealthOutputBody {
  return { status: 'ok', version: VERSION, city: row.name, uptime_sec: row.uptime };
}

/** What is not started for now: sessions, and pools by their names. */
type Resting = RestingRows & { readonly pools: ReadonlyMap<string, SessionRest> };

/** Counts of what a city has: agents and rigs of its config, its unfinished work, its mail and its sessions. `running` counts those with a process. */
export function toStatus(row: StatusRow, lite: boolean, resting: Resting, waiting: NonNullable<StatusBody['waiting']>): StatusBody {
  const suspended = isSuspended(row);
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
