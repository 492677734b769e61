import { expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { cloneDatabase } from '../../../test/support/database.js';
import { databaseTime } from './clock.js';
import { createDb, createPool } from './database.js';

it('says what the time is, and not when the transaction began', async () => {
  const database = await cloneDatabase();
  const db = createDb(createPool(database.url, { max: 1 }));
  try {
    const [began, now] = await db.transaction().execute(async (tx) => {
      await sql`select pg_sleep(0.01)`.execute(tx);
      const { rows } = await sql<{ began: Date }>`select now() as began`.execute(tx);
      return [rows[0]!.began, await databaseTime(tx)] as const;
    });
    expect(now.getTime()).toBeGreaterThan(began.getTime());
  } finally {
    await db.destroy();
    await database.drop();
  }
});
