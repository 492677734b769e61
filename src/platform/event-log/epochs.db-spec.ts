import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { cloneDatabase, type TestDatabase } from '../../../test/support/database.js';
import { createDb, createPool, type Db } from '../database/database.js';
import { distance, EPOCH_STEP, placeOf } from './epochs.js';

const [SECOND, THIRD] = [10 + EPOCH_STEP, 25 + 2 * EPOCH_STEP];
/** Ten events, fifteen, and an epoch without any before the present one. */
const ENDS = [10, SECOND + 15, THIRD];
const PLACES = [0, 3, 10, SECOND, SECOND + 4, SECOND + 15, THIRD, THIRD + EPOCH_STEP, THIRD + EPOCH_STEP + 7];

describe('epochs in SQL', () => {
  let database: TestDatabase;
  let db: Db;
  beforeAll(async () => {
    database = await cloneDatabase();
    db = createDb(createPool(database.url, { max: 1 }));
  });
  afterAll(async () => {
    await db.destroy();
    await database.drop();
  });

  it('say the same as here', async () => {
    for (const ends of [ENDS, [], [0]]) {
      const { rows } = await sql<{ after: number; upto: number; place: number; distance: number }>`
        select a as after, u as upto, log_place(${ends}::bigint[], a) as place, log_distance(${ends}::bigint[], a, u) as distance
        from unnest(${PLACES}::bigint[]) a, unnest(${PLACES}::bigint[]) u where a <= u`.execute(db);
      for (const row of rows) {
        expect([row.after, row.place]).toEqual([row.after, placeOf(ends, row.after)]);
        expect([row.after, row.upto, row.distance]).toEqual([row.after, row.upto, distance(ends, row.after, row.upto)]);
      }
    }
  });

  it('find the event that is so many after a place', async () => {
    const { rows } = await sql<{ after: number; nth: number; seq: number }>`
      select a as after, n as nth, log_seek(${ENDS}::bigint[], a, n) as seq
      from unnest(${PLACES}::bigint[]) a, generate_series(1::bigint, 40) n`.execute(db);
    for (const { after, nth, seq } of rows) {
      expect([after, nth, distance(ENDS, after, seq)]).toEqual([after, nth, nth]);
      // A number that was given, and no other name of a place between two epochs.
      expect(placeOf(ENDS, seq - 1)).toBe(seq - 1);
    }
  });
});
