import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { cloneDatabase, type TestDatabase } from '../../../test/support/database.js';
import { createPool } from './database.js';
import { toProblem } from './pg-errors.js';
import { DatabaseServers, serversOf } from './servers.js';

describe('servers that an address names', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await cloneDatabase();
  });
  afterAll(() => database.drop());

  /** The server after one that is not there, and after one that says nothing for ever. */
  const withOthers = async <T>(work: (url: string, nowhere: number) => Promise<T>): Promise<T> => {
    const silent = createServer((socket) => void socket.on('error', () => undefined)).listen(0, '127.0.0.1');
    const gone = createServer().listen(0, '127.0.0.1');
    await Promise.all([silent, gone].map((server) => new Promise((resolve) => server.once('listening', resolve))));
    const [quiet, nowhere] = [silent, gone].map((server) => (server.address() as AddressInfo).port) as [number, number];
    await new Promise((resolve) => gone.close(resolve));
    const real = new URL(database.url);
    try {
      return await work(database.url.replace(real.host, `127.0.0.1:${nowhere},127.0.0.1:${quiet},${real.host}`), nowhere);
    } finally {
      silent.close();
    }
  };

  it('are asked which of them takes writes, and a pool goes there', async () => {
    await withOthers(async (url, nowhere) => {
      const servers = serversOf(url);
      expect(serversOf(url)).toBe(servers);
      const pool = createPool(url, { max: 2 });
      try {
        const { rows } = await pool.query<{ name: string }>('select current_database() as name');
        expect(rows[0]!.name).toBe(new URL(database.url).pathname.slice(1));
        // A connection to another one failed: that changes nothing about this one.
        servers.failed(servers.addresses[0]!);
        expect(new URL(await servers.current()).port).toBe(new URL(database.url).port);
        expect(new URL(servers.addresses[0]!).port).toBe(`${nowhere}`);
      } finally {
        await pool.end();
      }
    });
  });

  // Guard: while none takes writes callers are told to come again.
  it('are unavailable for a while when none takes writes', async () => {
    const none = new DatabaseServers('postgres://nobody@127.0.0.1:1,127.0.0.1:2/none', 0);
    const error: unknown = await none.current().catch((caught: unknown) => caught);
    expect(toProblem(error)).toMatchObject({ problem: 'unavailable' });
  });

  it('are no choice when it is one: nobody is asked', async () => {
    const one = new DatabaseServers('postgres://nobody@127.0.0.1:1/none');
    expect([one.many, await one.current()]).toEqual([false, 'postgres://nobody@127.0.0.1:1/none']);
  });

  // Guard: a pool that writes the log looks whose it is, on every new connection.
  it('begin an epoch of the log once, before anything is written to a database that was restored', async () => {
    const pools = [createPool(database.url, { max: 2, log: true }), createPool(database.url, { max: 2, log: true })];
    const epoch = async (): Promise<number> => (await pools[0]!.query<{ epoch: number }>('select epoch from deployment')).rows[0]!.epoch;
    try {
      expect(await epoch()).toBe(1);
      await pools[0]!.query("update deployment set server = 'another one'");
      await Promise.all(pools.map((pool) => pool.query('select 1')));
      expect(await epoch()).toBe(2);
      // Its process has seen an epoch of which what has taken over knows nothing.
      const reconnect = async (): Promise<void> => {
        const held = await Promise.all([pools[0]!.connect(), pools[0]!.connect()]);
        held.forEach((client) => client.release(true));
        await pools[0]!.query('select 1');
      };
      pools[0]!.sawEpoch({ epoch: 4, id: null });
      await reconnect();
      expect([await epoch(), pools[0]!.seenEpoch.epoch, pools[1]!.seenEpoch.epoch]).toEqual([5, 5, 2]);
      await reconnect();
      expect(await epoch()).toBe(5);
      // What has taken over has begun one of that number before this process came: by a pooler, which knows of none.
      await pools[0]!.query('update deployment set epoch_id = gen_random_uuid()');
      await reconnect();
      expect([await epoch(), pools[0]!.seenEpoch.epoch]).toEqual([6, 6]);
    } finally {
      await Promise.all(pools.map((pool) => pool.end()));
    }
  });
});
