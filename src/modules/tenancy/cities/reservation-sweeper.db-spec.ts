import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { cloneDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { registerCity } from '../../../../test/support/registry.js';
import type { AppConfig } from '../../../platform/config/config.js';
import { createDb, createPool, type Db } from '../../../platform/database/database.js';
import type { DuePoller } from '../../../platform/database/due-poller.js';
import { Transactions } from '../../../platform/database/transactions.js';
import { Failpoints } from '../../../platform/failpoints/failpoints.js';
import { AppLogger, createLogger } from '../../../platform/logging/logger.js';
import { ReservationSweeper } from './reservation-sweeper.js';
import { ReservationsRepository, type Reservation } from './reservations.repository.js';
import { hashOf } from './scaffold/plan.js';

let database: TestDatabase;
let db: Db;
let transactions: Transactions;
let dir: string;
beforeAll(async () => {
  database = await cloneDatabase();
  db = createDb(createPool(database.url, { max: 4 }));
  transactions = new Transactions(db, new Failpoints());
});
afterAll(async () => {
  await db.destroy();
  await database.drop();
});
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-sweep-'));
  await writeFile(join(dir, 'city.toml'), 'made');
  const scaffold = { dir, tag: 't', dirs: [], files: [{ path: 'city.toml', hash: hashOf('made') }], changed: [] };
  const reservation: Reservation = { dir, name: 'alpha', requestId: 'req-1', scaffold };
  await transactions.run((tx) => new ReservationsRepository().insert(tx, reservation, 'dead', 30));
  await sql`update city_reservations set expires_at = now() - interval '1 s'`.execute(db);
});
afterEach(async () => {
  await sql`delete from city_reservations`.execute(db);
  await rm(dir, { recursive: true });
});

const sweeper = (reservations = new ReservationsRepository()): ReservationSweeper =>
  new ReservationSweeper(
    { processId: 'w' } as AppConfig,
    reservations,
    transactions,
    new AppLogger(createLogger('silent')),
    {} as DuePoller,
  );
const left = async (): Promise<number> => (await sql`select 1 from city_reservations`.execute(db)).rows.length;

it('takes back what a creator has left that died', async () => {
  expect(await sweeper().sweep()).toBe(1);
  expect([existsSync(join(dir, 'city.toml')), await left()]).toEqual([false, 0]);
});

// Guard: replicas of the release before register also what is reserved.
it('leaves the files of a city that was registered in between', async () => {
  await registerCity(db, 'alpha', dir);
  expect(await sweeper().sweep()).toBe(1);
  expect([existsSync(join(dir, 'city.toml')), await left()]).toEqual([true, 0]);
  await sql`delete from cities`.execute(db);
});

// Guard: a city of the same files may be in its place by then.
it("touches nothing that it has had for too long, and that is another one's by now", async () => {
  class Slow extends ReservationsRepository {
    override async takeExpired(...given: Parameters<ReservationsRepository['takeExpired']>): Promise<Reservation[]> {
      const taken = await super.takeExpired(...given);
      await sql`update city_reservations set process_id = 'another'`.execute(given[0]);
      return taken;
    }
  }
  await sweeper(new Slow()).sweep();
  expect([existsSync(join(dir, 'city.toml')), await left()]).toEqual([true, 1]);
});
