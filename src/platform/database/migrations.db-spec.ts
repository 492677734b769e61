import { readdir, readFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { dumpSchema } from '../../../scripts/dump-schema.js';
import { emptyDatabase, type TestDatabase } from '../../../test/support/database.js';
import { migrate } from './migrator.js';

describe('the migrations', () => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await emptyDatabase();
  });
  afterEach(() => database.drop());

  it('leave nothing behind when taken back, and the same schema when applied again', async () => {
    await migrate(database.url);
    const first = await dumpSchema(database.url);
    await migrate(database.url, 'none');
    expect(await dumpSchema(database.url)).toBe('');
    await migrate(database.url);
    expect(await dumpSchema(database.url)).toBe(first);
  });

  it('make the schema that db/schema.sql shows', async () => {
    await migrate(database.url);
    expect(await dumpSchema(database.url)).toBe(await readFile('db/schema.sql', 'utf8'));
  });

  it('may be applied by several processes at once', async () => {
    const applied = await Promise.all([migrate(database.url), migrate(database.url), migrate(database.url)]);
    expect(applied.filter((names) => names.length > 0)).toHaveLength(1);
    expect(await migrate(database.url)).toEqual([]);
  });

  it('are numbered without a number used twice', async () => {
    const numbers = (await readdir('db/migrations')).map((file) => file.slice(0, 4));
    expect(numbers).toEqual([...new Set(numbers)].sort());
  });
});
