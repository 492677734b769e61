import { describe, expect, it } from '@jest/globals';
import { adminAt, cloneDatabase } from '../../../test/support/database.js';

/** Whether the next test of this worker gets the database in which `sql` was done. */
async function isUsedAgain(sql: string): Promise<boolean> {
  const database = await cloneDatabase();
  await adminAt(database.url, sql);
  await database.drop();
  const next = await cloneDatabase();
  await next.drop();
  return next.url === database.url;
}

const ANSWERS = `insert into idempotency_keys (scope, operation, key, body_hash, status, body) select '', 'test', n::text, '', 201, '{}'`;

describe('a database that a test gives back', () => {
  it.each([
    ['is used again after rows', true, `${ANSWERS} from generate_series(1, 10) n`],
    ['is not after what plans are made by', false, `${ANSWERS} from generate_series(1, 10) n; analyze idempotency_keys`],
    [
      'is not after what leaves many pages',
      false,
      `${ANSWERS.replace("'{}'", "to_json(repeat('x', 1900))")} from generate_series(1, 5000) n`,
    ],
    ['is not after another schema', false, 'create table notes (id int)'],
  ])('%s', async (_what, again, sql) => {
    expect(await isUsedAgain(sql)).toBe(again);
  });
});
