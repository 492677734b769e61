import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { sql } from 'kysely';
import { emptyDatabase, type TestDatabase } from '../../../test/support/database.js';
import { createDb, createPool, type Db } from './database.js';
import { PassedOver } from './passed-over.js';

let database: TestDatabase;
let db: Db;
beforeAll(async () => {
  database = await emptyDatabase();
  db = createDb(createPool(database.url));
  await sql`create table jobs (at timestamptz)`.execute(db);
  await sql`insert into jobs select now() - m * interval '40 seconds' from generate_series(0, 3) m`.execute(db);
});
afterEach(() => void jest.restoreAllMocks());
afterAll(async () => {
  await db.destroy();
  await database.drop();
});

const seen = async (passed: PassedOver): Promise<number> =>
  (await sql`select from jobs j where j.at > ${passed} and j.at > ${passed.from()}`.execute(db)).rows.length;

describe('what is passed over', () => {
  it('is nothing at first, then what has been due for more than a minute', async () => {
    const passed = new PassedOver();
    expect(await seen(passed)).toBe(4);
    await passed.foundNothing(db, passed.from());
    expect(await seen(passed)).toBe(2);
  });

  it('is nothing again after a while, which a look at a part of it does not lengthen', async () => {
    let now = performance.now();
    jest.spyOn(performance, 'now').mockImplementation(() => now);
    const passed = new PassedOver(300);
    await passed.foundNothing(db, passed.from());
    const part = passed.from();
    now += 300;
    await passed.foundNothing(db, part);
    expect(await seen(passed)).toBe(4);
    await passed.foundNothing(db, passed.from());
    expect(await seen(passed)).toBe(2);
  });
});
