import { RUNNER_LEASE_MS } from '../../contract/runner-lease.js';
import { ask, type Api } from '../api.js';
import { ApiError } from '../errors.js';
import { reason, type Reason } from './reasons.js';

/**
 * Where the last worker has died, nobody writes what became of its sessions: their rows say that they are idle, or in a turn.
 * Nothing where a worker is heard of, or where the key may not ask for workers.
 */
export async function noWorker(api: Api): Promise<Reason[]> {
  try {
    const { data } = await ask(api, (signal) => api.http.GET('/v0/runners', { signal }));
    if ((data.items ?? []).some(({ lease_age_s: age }) => age * 1_000 <= RUNNER_LEASE_MS)) return [];
  } catch (error) {
    if (error instanceof ApiError) return [];
    throw error;
  }
  return [
    reason('no worker is alive, so nothing of it goes on', ['the start of a worker: `SVC_ROLE=worker svc serve`', 'see `svc doctor`']),
  ];
}
