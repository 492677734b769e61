import { afterEach, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { admin, cloneDatabase, type TestDatabase } from '../../../test/support/database.js';
import { OperationProcess } from '../../../test/support/operation-process.js';
import type { ProblemError } from '../../contract/problems.js';
import { Readiness } from '../health/readiness.js';
import { createPool } from './database.js';
import { toProblem } from './pg-errors.js';

let database: TestDatabase;
let running: OperationProcess | undefined;
afterEach(async () => {
  await running?.stop();
  await database.drop();
});

it('is told apart from a database that is away: what is there can be read', async () => {
  database = await cloneDatabase();
  // Its log is known to be the one that it was, as where a service has run before.
  const before = createPool(database.url, { log: true });
  await before.query('select 1');
  await before.end();
  await admin(`alter database ${new URL(database.url).pathname.slice(1)} set default_transaction_read_only = on`);
  running = await OperationProcess.start({ id: 'api', databaseUrl: database.url, declared: [] });
  const failures = await running.get(Readiness).failures();
  expect([failures.database, failures.writes]).toEqual([undefined, 'the database takes no writes']);
  const failure = await sql`insert into event_streams (name) values ('works')`.execute(running.db).catch((error: unknown) => error);
  expect((toProblem(failure) as ProblemError).message).toBe('unavailable: the database takes no writes; nothing was changed, try again');
});
