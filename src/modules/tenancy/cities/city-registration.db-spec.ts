import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { cloneDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { ANYBODY } from '../../../contract/principal.js';
import { AppConfig, loadConfig } from '../../../platform/config/config.js';
import { createDb, createPool, type Db } from '../../../platform/database/database.js';
import { Transactions } from '../../../platform/database/transactions.js';
import type { EventLog } from '../../../platform/event-log/event-log.js';
import { Failpoints } from '../../../platform/failpoints/failpoints.js';
import { Idempotency } from '../../../platform/idempotency/idempotency.js';
import type { Operations } from '../../../platform/operations/operations.js';
import { DirectoriesRepository } from '../../files/directories/directories.repository.js';
import { DirectoriesService } from '../../files/directories/directories.service.js';
import { CitiesRepository } from './cities.repository.js';
import { CityConflicts } from './city-conflicts.js';
import type { CityDirectories } from './city-directory.js';
import { CityRegistrationService } from './city-registration.service.js';
import { ReservationsRepository } from './reservations.repository.js';

const ACCEPTED = new Error('accepted');

let database: TestDatabase;
let db: Db;
let transactions: Transactions;
let dir: string;
let service: CityRegistrationService;
beforeAll(async () => {
  database = await cloneDatabase();
  const pool = createPool(database.url, { max: 4 });
  db = createDb(pool);
  transactions = new Transactions(db, new Failpoints());
  dir = await realpath(await mkdtemp(join(tmpdir(), 'svc-register-')));
  await writeFile(join(dir, 'city.toml'), 'made');
  const config = new AppConfig({ ...loadConfig({ SVC_DATA_DIR: join(dir, 'data') }, dir), citiesRoot: tmpdir() });
  const owners = new DirectoriesService(config, new DirectoriesRepository(), db);
  const cities = new CitiesRepository(pool);
  const operations = {
    unfinished: () => Promise.resolve(undefined),
    accept: () => Promise.reject(ACCEPTED),
  } as unknown as Operations;
  const idempotency = new Idempotency(undefined as never);
  const conflicts = new CityConflicts(cities, new ReservationsRepository(), owners, operations, idempotency, transactions, db);
  const directories = { resolve: () => Promise.resolve(dir) } as unknown as CityDirectories;
  const events = { captureCursor: () => Promise.resolve('0') } as unknown as EventLog;
  service = new CityRegistrationService(directories, owners, cities, conflicts, db, transactions, operations, idempotency, events);
});
afterAll(async () => {
  await db.destroy();
  await database.drop();
  await rm(dir, { recursive: true });
});

const register = (): Promise<unknown> => service.register({ dir, name: 'alpha' }, ANYBODY, undefined);
const reserve = (at: string): Promise<void> =>
  transactions.run((tx) => new ReservationsRepository().insert(tx, { dir: at, name: 'alpha', requestId: 'req-1', scaffold: {} }, 'p', 30));

// Guard: what a create has written is deleted when it fails.
it('registers nothing that a create of the same name is writing', async () => {
  await reserve(dir);
  await expect(register()).rejects.toThrow(`city initialization already in progress at ${dir}`);
  await sql`update city_reservations set dir = ${join(dir, 'alpha')}`.execute(db);
  await expect(register()).rejects.toThrow('city name already taken: alpha');
  await sql`delete from city_reservations`.execute(db);
  await expect(register()).rejects.toBe(ACCEPTED);
});
