import { RUNNER_LEASE_MS } from '../../contract/runner-lease.js';
import { ask, type Api } from '../api.js';
import { ApiError } from '../errors.js';
import { reason, type Reason } from './reasons.js';

/** Whether a worker that runs agents is alive; undefined where the key may not ask for workers. */
export async function workerAlive(api: Api): Promise<boolean | undefined> {
  try {
    const { data } = await ask(api, (signal) => api.http.GET('/v0/runners', { signal }));
    return (data.items ?? []).some(({ lease_age_s: age }) => age * 1_000 <= RUNNER_LEASE_MS);
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}

export const NO_WORKER = reason('no worker that runs agents is alive, so nothing of it goes on', [
  'the start of a worker: `SVC_ROLE=worker svc serve`',
  'see `svc doctor`',
]);

/** Where the last worker has died, nobody writes what became of its sessions: their rows say that they are idle, or in a turn. */
export async function noWorker(api: Api): Promise<Reason[]> {
  return (await workerAlive(api)) === false ? [NO_WORKER] : [];
}
