import type { Db } from '../database/database.js';
import type { Metrics } from '../health/metrics.js';
import type { Census, ProcessesRepository } from './processes.repository.js';

/** Who is there and who is not, of the whole deployment: whoever is asked says the same. */
export function measureProcesses(repository: Pick<ProcessesRepository, 'census'>, db: Db, metrics: Pick<Metrics, 'gauge' | 'known'>): void {
  // A scrape begins with the first of the two.
  let asked: Promise<Census | undefined> = Promise.resolve(undefined);
  const alive = metrics.gauge({
    name: 'svc_processes_alive',
    help: 'Processes of the deployment that are heard of, by what they do; one that answers and works is both. Absent while the database does not answer.',
    labelNames: ['role'],
    collect: async (): Promise<void> => {
      asked = metrics.known('census', () => repository.census(db));
      const census = await asked;
      // Nobody knows: a zero would say that there is no worker.
      if (census === undefined) alive.reset();
      else for (const role of ['api', 'worker'] as const) alive.set({ role }, census[role]);
    },
  });
  const lost = metrics.gauge({
    name: 'svc_processes_lost',
    help: 'Processes of the deployment that have died without a word in the last ten minutes. Absent while the database does not answer.',
    collect: async (): Promise<void> => {
      const census = await asked;
      if (census === undefined) lost.remove();
      else lost.set(census.lost);
    },
  });
}
