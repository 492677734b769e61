import { VERSION } from '../../../contract/version.js';
import type { CityListRow, RunningCityRow } from './cities.repository.js';
import type { CityGetResponse, CityInfo, HealthOutputBody } from './cities.schemas.js';
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

export function toCity(row: RunningCityRow): CityGetResponse {
  return {
    name: row.name,
    path: row.dir,
    version: VERSION,
    suspended: row.suspended,
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
