import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, sql } from 'kysely';
import { Lifecycle } from '../health/lifecycle.js';
import { AppLogger, createLogger } from '../logging/logger.js';
import type { Db, PgPool } from './database.js';
import { DuePoller } from './due-poller.js';

const log = new AppLogger(createLogger('silent'));
const db = new Kysely({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (of) => new PostgresIntrospector(of),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
}) as Db;
const ALL_MS = 30_000;
const LOOK_MS = 1_000;

describe('turns whatever is due', () => {
  let lifecycle: Lifecycle;
  beforeEach(() => {
    jest.useFakeTimers();
    lifecycle = new Lifecycle(log);
  });
  afterEach(async () => {
    await lifecycle.stop();
    jest.useRealTimers();
  });

  /** When each of so many was rung, in milliseconds. */
  function watched(size: number, ask: () => Promise<{ rows: { due: string }[] }>, told: object = log): number[][] {
    const looks = new DuePoller({ query: ask } as unknown as PgPool, db, lifecycle, told as AppLogger);
    const began = performance.now();
    return Array.from({ length: size }, () => {
      const rung: number[] = [];
      looks.watch(LOOK_MS, sql<boolean>`false`, () => rung.push(performance.now() - began));
      return rung;
    });
  }
  const nothing = (): Promise<{ rows: { due: string }[] }> => Promise.resolve({ rows: [{ due: '' }] });

  it.each([1, 24, 100])('come every 30 s for each of %d, and no more often', async (size) => {
    const all = watched(size, nothing);
    const endMs = 4 * ALL_MS;
    // In steps: looks that go on late then find the clock where it was.
    for (let at = 0; at < endMs; at += LOOK_MS / 4) await jest.advanceTimersByTimeAsync(LOOK_MS / 4);
    for (const rung of all) {
      const rests = [...rung, endMs].map((at, n) => at - (rung[n - 1] ?? 0));
      expect(Math.max(...rests)).toBeLessThanOrEqual(ALL_MS + 3 * LOOK_MS);
      expect(Math.min(...rests.slice(1, -1))).toBeGreaterThanOrEqual(ALL_MS - 3 * LOOK_MS);
    }
  });

  it('are not waited for where it cannot be asked what is due', async () => {
    const all = watched(24, () => Promise.reject(new Error('broken')));
    await jest.advanceTimersByTimeAsync(LOOK_MS);
    expect(all.map((rung) => rung.length)).toEqual(Array(24).fill(1));
  });

  // Guard: in an outage of 6 s each room of each worker failed by itself, every few looks, and wrote a line with its stack.
  it('do not come while the database is away, of which the log has one line', async () => {
    const said: string[] = [];
    const told = { warn: (_: object, line: string) => said.push(line), info: (_: object, line: string) => said.push(line) };
    let away = true;
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    const all = watched(24, () => (away ? Promise.reject(refused) : Promise.resolve({ rows: [{ due: '3' }] })), told);
    for (let at = 0; at < 10; at++) await jest.advanceTimersByTimeAsync(LOOK_MS);
    expect(all.flat()).toEqual([]);
    away = false;
    await jest.advanceTimersByTimeAsync(LOOK_MS);
    expect(all[3]!.length).toBeGreaterThan(0);
    expect(said).toEqual(['what is due could not be asked for; it is asked again', 'it can be asked again what is due']);
  });

  it('come once for each after a look that has hung', async () => {
    let answer = (): void => undefined;
    const all = watched(
      24,
      () =>
        new Promise((resolve) => {
          answer = () => resolve({ rows: [{ due: '' }] });
        }),
    );
    await jest.advanceTimersByTimeAsync(10 * ALL_MS);
    answer();
    await jest.advanceTimersByTimeAsync(0);
    expect(all.map((rung) => rung.length)).toEqual(Array(24).fill(1));
  });
});
