import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { cloneDatabase, type TestDatabase } from '../../../test/support/database.js';
import { SUPERVISOR_STREAM } from '../../contract/scalars.js';
import { createDb, createPool, type Db } from '../database/database.js';
import { Transactions, type Tx } from '../database/transactions.js';
import { Failpoints } from '../failpoints/failpoints.js';
import { OperationsRepository, type ClaimedRow } from './operations.repository.js';

const DONE = { state: 'succeeded', result: {} } as const;

let database: TestDatabase;
let db: Db;
let transactions: Transactions;
const repository = new OperationsRepository();
let made = 0;

beforeAll(async () => {
  database = await cloneDatabase();
  db = createDb(createPool(database.url));
  transactions = new Transactions(db, new Failpoints());
});
afterAll(async () => {
  await db.destroy();
  await database.drop();
});

const run = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => transactions.run(work);
const row = (id: string) => db.selectFrom('operations').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
const claim = (id: string, owner: string, leaseMs = 60_000): Promise<ClaimedRow | undefined> =>
  run((tx) => repository.claim(tx, id, owner, leaseMs));

async function accepted(deadlineMs = 60_000): Promise<string> {
  const id = `req-${++made}`;
  const about = { id, kind: 'test.work', target: id, subject: id, stream: SUPERVISOR_STREAM, input: {}, eventCursor: '', deadlineMs };
  await run((tx) => repository.insert(tx, about));
  return id;
}

// Whoever believes to hold an operation mostly finds out by itself; these are what is left when it does not.
describe('an operation that somebody else has by now', () => {
  it('is not renewed, put back, told of or ended by who had it before', async () => {
    const id = await accepted();
    const { fence } = (await claim(id, 'first'))!;
    await sql`update operations set lease_until = now() - interval '1 s' where id = ${id}`.execute(db);
    await claim(id, 'second');
    const before = await row(id);
    const tried = [
      await run((tx) => repository.renew(tx, id, fence, 60_000)),
      await run((tx) => repository.progress(tx, id, fence, 'late', 60_000)),
      await run((tx) => repository.putBack(tx, id, fence, { delayMs: 0, counted: true })),
      await run((tx) => repository.finish(tx, id, fence, DONE)),
    ];
    expect(tried).toEqual([false, false, false, false]);
    expect(await row(id)).toEqual(before);
  });

  it('is not claimed while its lease holds, and not once it has ended', async () => {
    const id = await accepted();
    const { fence } = (await claim(id, 'first'))!;
    expect(await claim(id, 'second')).toBeUndefined();
    expect(await run((tx) => repository.finish(tx, id, fence, DONE))).toBe(true);
    expect(await claim(id, 'second')).toBeUndefined();
    expect(await run((tx) => repository.finish(tx, id, fence, DONE))).toBe(false);
  });

  it('keeps its lease until its deadline and no longer', async () => {
    const id = await accepted();
    const { fence } = (await claim(id, 'first'))!;
    expect(await run((tx) => repository.renew(tx, id, fence, 60_000))).toBe(true);
    await sql`update operations set deadline_at = now() - interval '1 s' where id = ${id}`.execute(db);
    expect(await run((tx) => repository.renew(tx, id, fence, 60_000))).toBe(false);
  });
});
