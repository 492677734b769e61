import { beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../test/support/sse.js';
import { AppLogger, createLogger } from '../../platform/logging/logger.js';
import { PartTimings, RunningPart, StartFailed } from './running-part.js';
import type { ToPart } from './messages.js';
import { FakeProcess } from './testing/fake-process.js';

const BEGIN: ToPart = {
  kind: 'begin',
  settings: {
    role: 'api',
    port: 1,
    databaseUrl: 'postgres://a/b',
    databaseListenUrl: undefined,
    apiUrl: undefined,
    logLevel: 'silent',
    processName: 'api-1',
    poolSize: 8,
  },
};

class KeptLog extends AppLogger {
  readonly waits: unknown[] = [];
  constructor() {
    super(createLogger('silent'));
  }
  override warn(fields: unknown): void {
    this.waits.push((fields as { waitMs?: number }).waitMs);
  }
}

describe('a process of a start', () => {
  let processes: FakeProcess[];
  let log: KeptLog;
  let part: RunningPart;

  const have = (timings: Partial<PartTimings> = {}): void => {
    const fork = () => {
      const one = new FakeProcess();
      processes.push(one);
      return one.asProcess;
    };
    const times = new PartTimings({ pauseMs: 1, mostPauseMs: 4, graceMs: 60_000, ...timings });
    part = new RunningPart({ name: 'api-1', fork, begin: BEGIN, log, timings: times });
  };
  const nth = (n: number) => eventually(() => processes[n]);

  beforeEach(() => {
    processes = [];
    log = new KeptLog();
    have();
  });

  it('is told how it begins, and is there when it says so', async () => {
    const starting = part.start();
    expect(processes[0]!.told).toEqual([BEGIN]);
    expect(part.isReady).toBe(false);
    processes[0]!.isReady();
    expect(await starting).toEqual({ walls: { kind: 'none', why: undefined }, stopMs: 0 });
    expect(part.isReady).toBe(true);
  });

  it('fails its start with its own words, and is not begun anew', async () => {
    const starting = part.start();
    processes[0]!.says({ kind: 'failed', why: '127.0.0.1:1 is in use' });
    processes[0]!.exits();
    await expect(starting).rejects.toThrow(new StartFailed('127.0.0.1:1 is in use'));
    have();
    const again = part.start();
    processes[1]!.exits(null, 'SIGKILL');
    await expect(again).rejects.toThrow('the process api-1 has ended while starting (SIGKILL)');
    expect([processes.length, log.waits]).toEqual([2, []]);
  });

  it('is begun anew whenever it ends, after pauses that grow while it does not come up for long', async () => {
    const starting = part.start();
    processes[0]!.isReady();
    await starting;
    processes[0]!.exits(null, 'SIGKILL');
    expect(part.isReady).toBe(false);
    for (const n of [1, 2, 3]) (await nth(n)).exits();
    (await nth(4)).isReady();
    expect(part.isReady).toBe(true);
    expect([part.restarts, log.waits]).toEqual([4, [1, 2, 4, 4]]);
    expect(processes.map(({ told }) => told)).toEqual(processes.map(() => [BEGIN]));
  });

  it('is forgiven what was before it was stable', async () => {
    have({ stableMs: 0 });
    const starting = part.start();
    processes[0]!.isReady();
    await starting;
    processes[0]!.exits();
    for (const n of [1, 2]) {
      const one = await nth(n);
      one.isReady();
      one.exits();
    }
    expect(log.waits).toEqual([1, 1, 1]);
    await part.stop();
  });

  it('ends in order, and is not begun anew then', async () => {
    const starting = part.start();
    processes[0]!.isReady();
    await starting;
    const stopping = part.stop();
    expect(processes[0]!.told.at(-1)).toEqual({ kind: 'stop' });
    processes[0]!.exits(0);
    await stopping;
    expect([processes.length, processes[0]!.killed, log.waits]).toEqual([1, undefined, []]);
  });

  it('is killed when it does not end in time', async () => {
    have({ graceMs: 1 });
    const starting = part.start();
    processes[0]!.isReady();
    await starting;
    await part.stop();
    expect(processes[0]!.killed).toBe('SIGKILL');
  });

  it('stays away when it is to stop while it waits to be begun anew', async () => {
    have({ pauseMs: 60_000, mostPauseMs: 60_000 });
    const starting = part.start();
    processes[0]!.isReady();
    await starting;
    processes[0]!.exits();
    await part.stop();
    expect(processes).toHaveLength(1);
  });
});
