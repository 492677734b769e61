import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { performance } from 'node:perf_hooks';
import type { PgPool } from '../database/database.js';
import { MovedStreams } from '../event-log/moved.js';
import { Failpoints } from '../failpoints/failpoints.js';
import type { Lifecycle } from '../health/lifecycle.js';
import type { Metrics } from '../health/metrics.js';
import type { AppLogger } from '../logging/logger.js';
import { Notifier } from './notifier.js';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('Notifier', () => {
  let sent: string[];
  let moved: MovedStreams;
  let now: number;

  /** A loop that works for `utilization` of its time. */
  const start = (utilization: number): void => {
    jest.spyOn(performance, 'now').mockImplementation(() => now);
    jest.spyOn(performance, 'eventLoopUtilization').mockReturnValue({ utilization, active: 0, idle: 0 });
    sent = [];
    moved = new MovedStreams();
    const query = ({ values }: { values: string[] }): Promise<void> => {
      sent.push(values[1]!);
      return Promise.resolve();
    };
    const metrics = { counter: () => ({ inc: () => undefined }) } as unknown as Metrics;
    const lifecycle = { onStop: () => undefined } as unknown as Lifecycle;
    new Notifier({ query } as unknown as PgPool, moved, new Failpoints(), lifecycle, {} as AppLogger, metrics).onModuleInit();
  };
  const move = async (head: number): Promise<void> => {
    moved.mark([{ stream: 'a', head }]);
    for (let turns = 0; turns < 5; turns++) await turn();
  };

  beforeEach(() => {
    now = 1_000;
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'performance'] });
  });
  afterEach(() => {
    jest.useRealTimers();
    jest.restoreAllMocks();
  });

  it('sends each hint at once while there is little to do', async () => {
    start(0.4);
    now += 200;
    for (const head of [1, 2, 3]) await move(head);
    expect(sent).toEqual(['a:1', 'a:2', 'a:3']);
  });

  it('sends what one transaction has moved in one hint', async () => {
    start(0.4);
    now += 200;
    for (const stream of ['~session', '~wanted']) moved.mark([{ stream, head: 1 }]);
    await move(1);
    expect(sent).toEqual(['~session:1,~wanted:1,a:1']);
  });

  it('leaves nothing behind that moves while it comes to its end', async () => {
    start(0.4);
    now += 200;
    for (let ticks = 0; ticks < 30; ticks++) {
      moved.mark([{ stream: 'a', head: ticks }]);
      for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
      moved.mark([{ stream: 'b', head: ticks }]);
      await turn();
      expect(sent.join()).toContain(`b:${ticks}`);
    }
  });

  it('rests between two hints of a busy process, and sends what has moved meanwhile together', async () => {
    start(0.6);
    now += 200;
    for (const head of [1, 2, 3]) await move(head);
    expect(sent).toEqual(['a:1']);
    await jest.advanceTimersByTimeAsync(10);
    await move(4);
    expect(sent).toEqual(['a:1', 'a:3']);
  });

  it('does not take a moment for a load', async () => {
    start(0.9);
    now += 50;
    for (const head of [1, 2, 3]) await move(head);
    expect(sent).toEqual(['a:1', 'a:2', 'a:3']);
  });
});
