import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { cloneDatabase, type TestDatabase } from '../../../test/support/database.js';
import { DatabaseProxy } from '../../../test/support/database-proxy.js';
import { eventually } from '../../../test/support/sse.js';
import { connectionConfig } from './database.js';
import { HangingConnections, type HangingTimings } from './hanging.js';
import { isRetryable } from './pg-errors.js';
import { DatabaseServers } from './servers.js';
import { PgPool } from './shared-pool.js';

/** The server is given all the time that there is: only what is frozen for good is found not to answer. */
const PATIENT: HangingTimings = { lookMs: 20, quietLooks: 3, askMs: 60_000 };
const HASTY: HangingTimings = { ...PATIENT, askMs: 1_000 };
/** What hangs for ever without the guard is not waited for longer. */
const LIMIT_MS = 60_000;

describe('a connection on which nothing comes', () => {
  let database: TestDatabase;
  let proxy: DatabaseProxy;
  let pool: PgPool;
  beforeAll(async () => {
    database = await cloneDatabase();
  });
  afterAll(() => database.drop());
  beforeEach(async () => {
    proxy = await DatabaseProxy.start(database.url);
  });
  afterEach(async () => {
    await proxy.down();
    await pool.end();
  });

  const poolWith = (timings: HangingTimings): PgPool => {
    const config = connectionConfig(proxy.url, 'svc-hanging');
    // Only the guard's own question is given up early: a busy machine may take its time to connect.
    const asking = { ...config, connectionTimeoutMillis: timings.askMs };
    pool = new PgPool({
      ...config,
      Client: new HangingConnections(asking, new DatabaseServers(proxy.url), false, timings).watching(pg.Client),
      max: 4,
    });
    pool.on('error', () => undefined);
    return pool;
  };
  const failure = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => 'it has ended',
      (error: unknown) => error,
    );

  // Guard: connections to a server that does not answer are given up, those that wait and those that are idle.
  it(
    'is given up when its server does not answer, and so is every other one to it',
    async () => {
      poolWith(HASTY);
      const [one, idle] = await Promise.all([pool.connect(), pool.connect()]);
      idle.release();
      await one.query('begin');
      proxy.freeze(true);
      const error = await failure(one.query('select 1'));
      expect(error).toMatchObject({ code: 'ETIMEDOUT' });
      expect(isRetryable(error)).toBe(true);
      one.release();
      await eventually(() => pool.totalCount === 0);
      proxy.thaw();
      expect((await pool.query<{ n: number }>('select 1 as n')).rows).toEqual([{ n: 1 }]);
    },
    LIMIT_MS,
  );

  // Guard: a connection of which the server knows nothing is given up alone.
  it(
    'is given up alone when its server answers, and does nothing for it',
    async () => {
      poolWith(PATIENT);
      const lost = await pool.connect();
      proxy.freeze(false);
      const other = await pool.connect();
      expect(await failure(lost.query('select 1'))).toMatchObject({ code: 'ETIMEDOUT' });
      lost.release();
      expect((await other.query<{ n: number }>('select 1 as n')).rows).toEqual([{ n: 1 }]);
      other.release();
      expect(pool.totalCount).toBe(1);
    },
    LIMIT_MS,
  );

  // Guard: a statement may take as long as it likes.
  it('stays when its server works for it, however often that is asked', async () => {
    poolWith(PATIENT);
    const asked = new Set<number>();
    const working = pool.query(`select pg_sleep(120)`).catch((error: unknown) => error);
    const watch = await pool.connect();
    await eventually(async () => {
      const { rows } = await watch.query<{ pid: number }>(`select pid from pg_stat_activity where application_name = 'svc-look'`);
      for (const { pid } of rows) asked.add(pid);
      return asked.size >= 3;
    });
    await watch.query(`select pg_cancel_backend(pid) from pg_stat_activity where query like 'select pg_sleep(120)%'`);
    watch.release();
    expect(await working).toMatchObject({ code: '57014' });
  });
});
