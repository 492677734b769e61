import { readdir, readFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql, type Kysely } from 'kysely';
import { dumpSchema } from '../../../scripts/dump-schema.js';
import { adminAt, emptyDatabase, type TestDatabase } from '../../../test/support/database.js';
import { allMigrations, migrate, type Migrations } from './migrator.js';

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

  it('build an index while others write, whoever else wants to migrate meanwhile', async () => {
    await migrate(database.url);
    const name = '9001_index_actors_concurrently';
    const up = async (db: Kysely<unknown>): Promise<void> => {
      await sql`create index concurrently events_actor_idx on events (actor)`.execute(db);
    };
    const migrations: Migrations = { ...(await allMigrations()), [name]: { up } };
    const applied = await Promise.all([1, 2, 3].map(() => migrate(database.url, 'latest', migrations)));
    expect(applied.flat()).toEqual([name]);
    const valid = await adminAt(database.url, "select indisvalid from pg_index where indexrelid = 'events_actor_idx'::regclass");
    expect(valid).toEqual([{ indisvalid: true }]);
  });

  it('are numbered without a number used twice', async () => {
    const numbers = (await readdir('db/migrations')).map((file) => file.slice(0, 4));
    expect(numbers).toEqual([...new Set(numbers)].sort());
  });
});
