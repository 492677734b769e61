import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { cloneDatabase, type TestDatabase } from '../../../test/support/database.js';
import { createDb, createPool, type Db } from '../database/database.js';
import { Transactions } from '../database/transactions.js';
import { Failpoints } from '../failpoints/failpoints.js';
import { ProcessesRepository } from './processes.repository.js';

let database: TestDatabase;
let db: Db;
let transactions: Transactions;
const repository = new ProcessesRepository();

beforeAll(async () => {
  database = await cloneDatabase();
  db = createDb(createPool(database.url, { max: 2 }));
  transactions = new Transactions(db, new Failpoints());
});
afterAll(async () => {
  await db.destroy();
  await database.drop();
});

const register = (id: string, role = 'worker'): Promise<void> =>
  transactions.run((tx) => repository.register(tx, { id, role, hostname: 'h', version: '1' }));
const previousExit = (): Promise<string> => transactions.run((tx) => repository.previousExit(tx));

describe('processes', () => {
  it('tell how the previous one of a working role ended', async () => {
    expect(await previousExit()).toBe('unknown');
    await register('api', 'api');
    await transactions.run((tx) => repository.stop(tx, 'api'));
    await register('w1');
    expect(await previousExit()).toBe('unknown');
    await transactions.run((tx) => repository.stop(tx, 'w1'));
    expect(await previousExit()).toBe('clean');
    await register('w2');
    await sql`update processes set heartbeat_at = now() + interval '1 s', stopped_at = null where id = 'w2'`.execute(db);
    expect(await previousExit()).toBe('clean');
    await sql`update processes set stopped_at = now() - interval '1 hour' where id = 'w1'`.execute(db);
    await sql`update processes set heartbeat_at = now() - interval '1 minute' where id = 'w2'`.execute(db);
    expect(await previousExit()).toBe('crash');
  });

  it('have died when another one has their database for itself', async () => {
    await register('w5');
    await transactions.run((tx) => repository.bury(tx));
    expect(await previousExit()).toBe('crash');
    await transactions.run((tx) => repository.stop(tx, 'w5'));
    expect(await previousExit()).toBe('clean');
  });

  it('are counted by what they do, as far as they are heard of', async () => {
    await sql`update processes set stopped_at = now()`.execute(db);
    await register('both', 'all');
    await register('answers', 'api');
    await register('silent');
    await register('gone');
    await sql`update processes set heartbeat_at = now() - interval '20 seconds' where id = 'silent'`.execute(db);
    await sql`update processes set heartbeat_at = now() - interval '20 minutes' where id = 'gone'`.execute(db);
    expect(await repository.census(db)).toEqual({ api: 2, worker: 1, lost: 1 });
    await transactions.run((tx) => repository.stop(tx, 'both'));
    expect(await repository.census(db)).toEqual({ api: 1, worker: 0, lost: 1 });
    await sql`update processes set stopped_at = now()`.execute(db);
  });

  it('hear from their beat that a probe was asked for, or that they are forgotten', async () => {
    expect(await transactions.run((tx) => repository.beat(tx, 'nobody'))).toBeUndefined();
    await register('w3');
    expect(await transactions.run((tx) => repository.beat(tx, 'w3'))).toEqual({ probeAskedAt: null, now: expect.any(Date) });
    await sql`update processes set probe_requested_at = now() where id = 'w3'`.execute(db);
    expect(await transactions.run((tx) => repository.beat(tx, 'w3'))).toMatchObject({ probeAskedAt: expect.any(String) });
  });

  it('are forgotten after a day, but the last worker stays', async () => {
    await sql`update processes set heartbeat_at = now() - interval '3 days', stopped_at = now() - interval '3 days'`.execute(db);
    await sql`update processes set heartbeat_at = now() - interval '2 days' where id = 'w1'`.execute(db);
    await transactions.run((tx) => repository.purge(tx));
    expect(await db.selectFrom('processes').select('id').execute()).toEqual([{ id: 'w1' }]);
  });
});
