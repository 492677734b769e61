import { expect, it } from '@jest/globals';
import type { Db } from '../database/database.js';
import { Metrics } from '../health/metrics.js';
import { measureProcesses } from './process-metrics.js';

it('says how many are there, and nothing while nobody can be asked', async () => {
  const metrics = new Metrics();
  let broken = false;
  const census = (): Promise<{ api: number; worker: number; lost: number }> =>
    broken ? Promise.reject(new Error('no connection')) : Promise.resolve({ api: 2, worker: 0, lost: 1 });
  measureProcesses({ census }, {} as Db, metrics);
  const said = async (): Promise<string[]> => (await metrics.text()).split('\n').filter((line) => line.startsWith('svc_processes_'));
  expect(await said()).toEqual(['svc_processes_alive{role="api"} 2', 'svc_processes_alive{role="worker"} 0', 'svc_processes_lost 1']);
  broken = true;
  expect(await said()).toEqual(['svc_processes_lost 1']);
});
