import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { cloneDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { createDb, createPool, type Db } from '../../../platform/database/database.js';
import { Transactions, type Tx } from '../../../platform/database/transactions.js';
import { Failpoints } from '../../../platform/failpoints/failpoints.js';
import { ConfigEditsRepository } from './config-edits.repository.js';
import type { EditPlan } from './edit-plan.js';

let database: TestDatabase;
let db: Db;
let repository: ConfigEditsRepository;
let streamId: number;

beforeAll(async () => {
  database = await cloneDatabase();
  db = createDb(createPool(database.url));
  repository = new ConfigEditsRepository(db);
  const { rows } = await sql<{ id: number }>`insert into event_streams (name) values ('town') returning id`.execute(db);
  streamId = rows[0]!.id;
});
afterAll(async () => {
  await db.destroy();
  await database.drop();
});

const run = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => new Transactions(db, new Failpoints()).run(work);
const take = (id: string): Promise<boolean> => run((tx) => repository.take(tx, streamId, { id, owner: id, dir: '/town' }, 60));
const plan = (id: string, writes: EditPlan['writes'] = []): Promise<boolean> =>
  run((tx) => repository.plan(tx, streamId, id, { id, writes, removals: [] }, 60));
const end = (id: string): Promise<boolean> => run((tx) => repository.end(tx, streamId, id));
const letExpire = (): Promise<unknown> => sql`update config_edits set expires_at = now() - interval '1 s'`.execute(db);

// An editor mostly finds out by its own clock; this is what is left when that is wrong.
describe('the hold on the files of a city', () => {
  it('has one holder; who has lost it announces and ends nothing', async () => {
    expect([await take('first'), await take('second')]).toEqual([true, false]);
    await letExpire();
    expect(await plan('first')).toBe(false);
    expect(await take('second')).toBe(true);
    expect([await plan('first'), await end('first'), await repository.holderOf(streamId, 'second')]).toEqual([false, false, 'own']);
    expect([await plan('second'), await end('second')]).toEqual([true, true]);
  });

  it('is not taken from who has announced what it writes: that is taken back first', async () => {
    await take('third');
    await plan('third');
    await letExpire();
    expect(await take('fourth')).toBe(false);
    const left = await run((tx) => repository.adopt(tx, 'fourth', 60, streamId));
    expect(left).toMatchObject({ plan: { id: 'third' } });
    expect([await plan('third'), await end('third'), await repository.holderOf(streamId, 'third')]).toEqual([false, false, 'another']);
    expect([await end(left!.id), await repository.holderOf(streamId, 'third')]).toEqual([true, undefined]);
    expect(await take('fourth')).toBe(true);
  });

  it('keeps texts that are none for PostgreSQL', async () => {
    const writes = [
      { path: 'a', before: 'a\0b\\u0000é', after: '\0' },
      { path: 'b', before: null, after: 'plain \\u0000' },
    ];
    await end('fourth');
    await take('fifth');
    expect(await plan('fifth', writes)).toBe(true);
    await letExpire();
    const left = await run((tx) => repository.adopt(tx, 'sixth', 60, streamId));
    expect(left?.plan?.writes).toEqual(writes);
    await end(left!.id);
  });
});
