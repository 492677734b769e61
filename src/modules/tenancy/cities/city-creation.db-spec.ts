import { existsSync } from 'node:fs';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { cloneDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { registerCity } from '../../../../test/support/registry.js';
import { ANYBODY } from '../../../contract/principal.js';
import { AppConfig, loadConfig } from '../../../platform/config/config.js';
import { createDb, createPool, type Db } from '../../../platform/database/database.js';
import { Transactions } from '../../../platform/database/transactions.js';
import type { EventLog } from '../../../platform/event-log/event-log.js';
import { Failpoints } from '../../../platform/failpoints/failpoints.js';
import { Idempotency } from '../../../platform/idempotency/idempotency.js';
import { AppLogger, createLogger } from '../../../platform/logging/logger.js';
import type { Operations } from '../../../platform/operations/operations.js';
import { DirectoriesRepository } from '../../files/directories/directories.repository.js';
import { DirectoriesService } from '../../files/directories/directories.service.js';
import type { ProvidersService } from '../../hosts/providers/providers.service.js';
import type { RunnerWallsService } from '../../hosts/runner-list/runner-walls.service.js';
import { CitiesRepository } from './cities.repository.js';
import { CityConflicts } from './city-conflicts.js';
import { CityCreationService } from './city-creation.service.js';
import type { CityDirectories } from './city-directory.js';
import { ReservationsRepository } from './reservations.repository.js';

let database: TestDatabase;
let db: Db;
let root: string;
let dir: string;
let failpoints: Failpoints;
let service: CityCreationService;
beforeAll(async () => {
  database = await cloneDatabase();
  const pool = createPool(database.url, { max: 4 });
  db = createDb(pool);
  failpoints = new Failpoints();
  const transactions = new Transactions(db, failpoints);
  root = await realpath(await mkdtemp(join(tmpdir(), 'svc-create-')));
  dir = join(root, 'alpha');
  const config = new AppConfig({ ...loadConfig({ SVC_DATA_DIR: join(root, 'data') }, root), citiesRoot: root });
  const owners = new DirectoriesService(config, new DirectoriesRepository(), db);
  const cities = new CitiesRepository(pool);
  const reservations = new ReservationsRepository();
  const operations = { unfinished: () => Promise.resolve(undefined), newRequestId: () => 'req-1' } as unknown as Operations;
  const idempotency = new Idempotency(undefined as never);
  service = new CityCreationService(
    config,
    { resolve: () => Promise.resolve(dir) } as unknown as CityDirectories,
    owners,
    cities,
    reservations,
    new CityConflicts(cities, reservations, owners, operations, idempotency, transactions, db),
    {} as ProvidersService,
    { warningOf: () => Promise.resolve({}) } as unknown as RunnerWallsService,
    db,
    transactions,
    operations,
    idempotency,
    { captureCursor: () => Promise.resolve('0') } as unknown as EventLog,
    failpoints,
    new AppLogger(createLogger('silent')),
  );
});
afterAll(async () => {
  await db.destroy();
  await database.drop();
  await rm(root, { recursive: true });
});

// Guard: replicas of the release before register also what is reserved.
it('takes back the files of a create that has failed, unless a city has them by then', async () => {
  const isLeft = async (meanwhile: () => Promise<unknown>): Promise<[boolean, number]> => {
    failpoints.arm('city.before_commit', async () => {
      await meanwhile();
      throw new Error('no');
    });
    await expect(service.create({ dir, start_command: 'agent' }, ANYBODY, undefined)).rejects.toThrow('no');
    return [existsSync(join(dir, 'city.toml')), (await sql`select from city_reservations`.execute(db)).rows.length];
  };
  expect(await isLeft(() => Promise.resolve())).toEqual([false, 0]);
  expect(await isLeft(() => registerCity(db, 'alpha', dir))).toEqual([true, 0]);
});
