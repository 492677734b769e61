import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { plansOf, rowsRead } from '../../../../test/support/plans.js';
import type { Db } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';
import { RigProvisionsRepository } from '../../sessions/rigs/rig-provisions.repository.js';
import type { SessionRow } from '../../sessions/session-store/session-row.js';
import { poolFixture, type PoolFixture } from './testing/pool-fixture.js';
import { PoolStateRepository } from './pool-state.repository.js';
import { WaitDeliveryRepository } from './wait-delivery.repository.js';

let fixture: PoolFixture;
let session: SessionRow;
beforeEach(async () => {
  fixture = await poolFixture();
  session = await fixture.session('asleep');
});
afterEach(() => fixture.stop());

async function said(source: string, n: number, reference = 'x-'): Promise<void> {
  await sql`
    insert into session_messages (stream_id, session_pk, id, intent, body, source, reference, sender, status, ended_at)
    select ${fixture.city.streamId}, ${session.pk}, ${`${source}-`} || g, 'follow_up', 'x', ${source}, ${reference} || g, 'tester', 'expired', now()
    from generate_series(1, ${n}::int) g`.execute(fixture.db);
}
/** How many messages it reads for that. */
async function read(work: (db: Db) => Promise<unknown>): Promise<number> {
  await sql`analyze session_messages, sessions`.execute(fixture.db);
  return rowsRead(await plansOf(fixture.pools[0]!, work), 'session_messages');
}

describe('a session with a long conversation', () => {
  const look = (db: Db): Promise<unknown> => new PoolStateRepository(db).sessions(db as unknown as Tx, fixture.city.streamId);
  const isSent = (reference: string) => (db: Db) =>
    new WaitDeliveryRepository(db).isSent(db as unknown as Tx, fixture.city.streamId, session.pk, reference);

  it('is looked at without that', async () => {
    await said('message', 5_000);
    expect(await read(look)).toBe(0);
    await said('nudge', 50);
    expect(await read(look)).toBe(8);
    const { nudges, nudged } = (await new PoolStateRepository(fixture.db).sessions(fixture.db as unknown as Tx, fixture.city.streamId))[0]!;
    expect(Object.keys(nudges).sort()).toEqual(Array.from({ length: 8 }, (_, n) => `x-${n + 43}`));
    expect(Math.abs(nudges['x-50']! - Date.now())).toBeLessThan(60_000);
    expect(nudged['x-50']).toBe(1);
  });

  it('is told of a wait without that, and without what it was told of others', async () => {
    await said('message', 5_000);
    await said('wait', 500);
    expect([await read(isSent('none')), await read(isSent('x-7'))]).toEqual([0, 1]);
  });
});

describe('a look at the pools of a city', () => {
  it('keeps no rig waiting, but no worker of the release before beside it, whose looks and rigs have one lock alone', async () => {
    const { db } = fixture;
    const { streamId } = fixture.city;
    const [pools, rigs] = [new PoolStateRepository(db), new RigProvisionsRepository(db)];
    const beside = <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
      db.transaction().execute(async (tx) => {
        await sql`set local lock_timeout = '2s'`.execute(tx);
        return work(tx as unknown as Tx);
      });
    const isFree = async (tx: Tx): Promise<boolean> =>
      (await sql<{ free: boolean }>`select pg_try_advisory_xact_lock(3, ${streamId}) as free`.execute(tx)).rows[0]!.free;
    await beside(async (tx) => {
      expect(await pools.tryLock(tx, streamId)).toBe(true);
      await beside((other) => rigs.lock(other, streamId));
      expect(await beside((other) => pools.tryLock(other, streamId))).toBe(false);
      expect(await beside(isFree)).toBe(false);
    });
    await beside(async (tx) => {
      await rigs.lockByName(tx, 'alpha');
      expect(await beside((other) => pools.tryLock(other, streamId))).toBe(true);
      expect(await beside(isFree)).toBe(false);
    });
    await beside(async (tx) => {
      expect(await isFree(tx)).toBe(true);
      expect(await beside((other) => pools.tryLock(other, streamId))).toBe(false);
    });
  });
});
