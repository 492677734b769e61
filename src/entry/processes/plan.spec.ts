import { tmpdir } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import { loadConfig } from '../../platform/config/config.js';
import { processesOf } from '../../platform/config/processes.js';
import { connectionsFor, partsOf } from './plan.js';

const configOf = (env: Record<string, string>) => loadConfig(env, tmpdir());

describe('SVC_PROCESSES', () => {
  it.each([
    [{}, 1],
    [{ SVC_PROCESSES: '3' }, 3],
    [{ SVC_PROCESSES: 'auto' }, 2],
    [{ SVC_PROCESSES: 'auto', SVC_ROLE: 'api', SVC_DATABASE_URL: 'postgres://a/b' }, 2],
    [{ SVC_PROCESSES: 'auto', SVC_ROLE: 'worker', SVC_DATABASE_URL: 'postgres://a/b' }, 1],
  ])('%j: so many answer on four cores', (env, processes) => {
    expect(processesOf(configOf(env), 4)).toBe(processes);
  });

  it('of itself takes no more than are of use, and no less than one', () => {
    const config = configOf({ SVC_PROCESSES: 'auto' });
    expect([1, 2, 3, 8, 16, 128].map((cores) => processesOf(config, cores))).toEqual([1, 1, 1, 4, 8, 8]);
  });

  it.each(['0', '65', '1.5', 'many', '-1'])('%s is refused', (given) => {
    expect(() => configOf({ SVC_PROCESSES: given })).toThrow(
      'wrong configuration:\n  SVC_PROCESSES: has to be auto, or a number from 1 to 64',
    );
  });

  it('is refused for a worker, of which there is one a process', () => {
    expect(() => configOf({ SVC_PROCESSES: '2', SVC_ROLE: 'worker', SVC_DATABASE_URL: 'postgres://a/b' })).toThrow(
      'SVC_PROCESSES: a worker is one process; start more of them',
    );
  });
});

describe('the processes of a start', () => {
  it('answer, and one beside them works, unless others do', () => {
    expect(partsOf(2, 'all')).toEqual([
      { name: 'api-1', role: 'api' },
      { name: 'api-2', role: 'api' },
      { name: 'worker', role: 'worker' },
    ]);
    expect(partsOf(2, 'api').map(({ name }) => name)).toEqual(['api-1', 'api-2']);
  });

  it('have no more connections of an embedded server than it takes, whatever their number', () => {
    expect(connectionsFor(partsOf(2, 'all'))).toEqual({ poolSize: 16, connections: 100 });
    for (let answering = 2; answering <= 64; answering++) {
      const parts = partsOf(answering, 'all');
      const { poolSize, connections } = connectionsFor(parts);
      const used = answering * (poolSize + 3) + (poolSize + 8);
      expect({ answering, poolSize, left: connections - used >= 12 }).toEqual({ answering, poolSize, left: true });
      expect(poolSize).toBeGreaterThanOrEqual(8);
    }
    expect(connectionsFor(partsOf(8, 'all'))).toEqual({ poolSize: 8, connections: 116 });
  });
});
