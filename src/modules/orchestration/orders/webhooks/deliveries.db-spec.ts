import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { cloneDatabase, type TestDatabase } from '../../../../../test/support/database.js';
import { registerCity } from '../../../../../test/support/registry.js';
import { createDb, createPool, type Db } from '../../../../platform/database/database.js';
import { DeliveriesRepository } from './deliveries.repository.js';

let database: TestDatabase;
let db: Db;
let streamId: number;
beforeAll(async () => {
  database = await cloneDatabase();
  db = createDb(createPool(database.url, { max: 2 }));
  ({ streamId } = await registerCity(db, 'alpha', '/c/alpha'));
});
afterAll(async () => {
  await db.destroy();
  await database.drop();
});

describe('a delivery that counts by several things', () => {
  // Guard: the limit of those that wait for an order is one of deliveries.
  it('waits once, by its name', async () => {
    const repository = new DeliveriesRepository(db);
    const taken = { hook: 'hub', scopedName: 'triage', firingId: 'firing-1', keptMs: 60_000 };
    await db.transaction().execute(async (tx) => {
      expect(await repository.take(tx, streamId, { ...taken, delivery: 'sha256:1', vars: {} })).toBe(true);
      expect(await repository.take(tx, streamId, { ...taken, delivery: 'one', vars: { n: '1' } })).toBe(true);
      await repository.wait(tx, streamId, 'hub', 'one');
      expect(await repository.countWaiting(tx, streamId, 'triage')).toBe(1);
      expect(await repository.next(tx, streamId, 'triage')).toMatchObject({ firing_id: 'firing-1', vars: { n: '1' } });
    });
  });
});
