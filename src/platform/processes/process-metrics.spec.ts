import { expect, it } from '@jest/globals';
import type { Db } from '../database/database.js';
import { Metrics } from '../health/metrics.js';
import { measureProcesses } from './process-metrics.js';

it('says how many are there, and nothing while nobody can be asked', async () => {
  const metrics = new Metrics();
  type Counts = { api: number; worker: number; lost: number };
  let census: () => Promise<Counts> = async () => ({ api: 2, worker: 0, lost: 1 });
  measureProcesses({ census: () => census() }, {} as Db, metrics);
  const said = async (): Promise<string[]> => (await metrics.text()).split('\n').filter((line) => line.startsWith('svc_processes_'));
  expect(await said()).toEqual(['svc_processes_alive{role="api"} 2', 'svc_processes_alive{role="worker"} 0', 'svc_processes_lost 1']);
  census = () => Promise.reject(new Error('no connection'));
  expect(await said()).toEqual([]);
  // Guard: a database that hangs.
  metrics.knownMs = 1;
  census = () => new Promise(() => undefined);
  expect(await said()).toEqual([]);
}, 10_000);
