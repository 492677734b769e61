import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { emptyDatabase, type TestDatabase } from '../../../test/support/database.js';
import { createDb, createPool, type Db } from './database.js';
import { preparing } from '../turns/preparing.js';

let database: TestDatabase;
let db: Db;

beforeEach(async () => {
  database = await emptyDatabase();
  db = createDb(createPool(database.url, { max: 1 }));
  await sql`create table kept (id int)`.execute(db);
});
afterEach(async () => {
  await db.destroy();
  await database.drop();
});

const insert = (id: number): Promise<unknown> => sql`insert into kept (id) values (${id})`.execute(db);
const whole = (id: number): Promise<unknown> => sql`select * from kept where id = ${id}`.execute(db);

/** What the connection has prepared. */
async function prepared(of = db): Promise<string[]> {
  const { rows } = await sql<{ statement: string }>`select statement from pg_prepared_statements order by prepare_time`.execute(of);
  return rows.map(({ statement }) => statement);
}

describe('statements that are asked again and again', () => {
  it('are prepared once each by a connection, in transactions too, and others are not', async () => {
    await insert(1);
    await preparing(async () => {
      await insert(2);
      await db.transaction().execute((tx) => sql`insert into kept (id) values (${3})`.execute(tx));
      await sql`update kept set id = ${4} where id = ${3}`.execute(db);
    });
    await sql`delete from kept where id = ${4}`.execute(db);
    expect(await prepared()).toEqual(['insert into kept (id) values ($1)', 'update kept set id = $1 where id = $2']);
  });

  it('go on when their table gets a column', async () => {
    await preparing(async () => {
      await insert(1);
      await whole(1);
      await sql`insert into kept (id) values (${2}) returning *`.execute(db);
    });
    await sql`alter table kept add column note text`.execute(db);
    await preparing(async () => {
      await insert(3);
      expect(await whole(3)).toMatchObject({ rows: [{ id: 3, note: null }] });
      expect(await sql`insert into kept (id) values (${4}) returning *`.execute(db)).toMatchObject({ rows: [{ id: 4, note: null }] });
    });
  });

  it('are no more than so many, whatever they are put together from', async () => {
    await preparing(async () => {
      for (let n = 1; n <= 450; n++) await sql`select ${n}::int as ${sql.ref(`n${n}`)}`.execute(db);
    });
    const held = await prepared();
    expect(held.length).toBeGreaterThan(300);
    expect(held.length).toBeLessThanOrEqual(400);
  });

  it('are not prepared behind a pooler, which may give each to another connection', async () => {
    const behind = createDb(createPool(database.url, { max: 1, pooled: true }));
    try {
      await preparing(() => sql`insert into kept (id) values (${1})`.execute(behind));
      expect(await prepared(behind)).toEqual([]);
    } finally {
      await behind.destroy();
    }
  });
});
