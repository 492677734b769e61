import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { cloneDatabase, type TestDatabase } from '../../../test/support/database.js';
import { eventually } from '../../../test/support/sse.js';
import { databaseWaits } from '../turns/database-waits.js';
import type { Party } from '../turns/turns.js';
import { workFor, Working, type Place } from '../turns/working.js';
import { createDb, createPool, type Db, type PgPool } from './database.js';
import { GroupCommitter } from './group-committer.js';
import type { PoolClient } from 'pg';

const many: Place = { leave: () => undefined, again: () => Promise.resolve(), wanted: 100 };
const party = (owner: string): Party => ({ owner: `city ${owner}`, limited: true, lane: 'k' });
/** A connection for a request of its own. */
const connection = (pool: PgPool, owner: string): Promise<PoolClient> => workFor(new Working(party(owner), many), () => pool.connect());

describe('connections of a pool', () => {
  let database: TestDatabase;
  let pool: PgPool;
  let db: Db;
  beforeAll(async () => {
    database = await cloneDatabase();
    pool = createPool(database.url, { max: 8 });
    db = createDb(pool);
  });
  afterAll(async () => {
    await db.destroy();
    await database.drop();
  });

  it('are given to cities in turn: none has all of them, and the process itself waits for nobody', async () => {
    const others = databaseWaits.count;
    const got: string[] = [];
    const held: PoolClient[] = [];
    const ask = (owner: string): Promise<void> =>
      connection(pool, owner).then((client) => {
        got.push(owner);
        held.push(client);
      });
    const asked = Array.from({ length: 10 }, () => ask('flood'));
    await eventually(() => got.length === 4); // half of them: nobody else is about
    const other = [ask('calm'), ask('calm'), ask('third')];
    await eventually(() => got.length === 6); // three quarters are taken
    expect(got.slice(4).sort()).toEqual(['calm', 'third']);
    expect(pool.turns.waiting).toBe(7);
    // Feeding streams pauses for requests that have a connection.
    expect(databaseWaits.count).toBe(others + 6);
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    // Beside others each has one at a time: of four that come back the flood gets one.
    for (let n = 0; n < 4; n++) held.shift()!.release();
    await eventually(() => got.length === 7);
    expect([got[6], pool.turns.taken, pool.turns.waiting]).toEqual(['flood', 3, 6]);
    while (got.length < 13) {
      held.shift()?.release();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all([...asked, ...other]);
    while (held.length > 0) held.shift()!.release();
    expect([pool.turns.taken, databaseWaits.count]).toEqual([0, others]);
  });

  it('are more than one beside others of who has had little of them, however many of its requests have come to wait', async () => {
    const own = createPool(database.url, { max: 8 });
    const [busy, calm] = [await connection(own, 'busy'), await connection(own, 'calm')];
    const since = performance.now();
    await eventually(() => performance.now() - since > 20);
    busy.release();
    calm.release();
    const used = await connection(own, 'busy');
    await eventually(() => performance.now() - since > 60);
    used.release();
    const taken = (owner: string): Promise<PoolClient>[] => Array.from({ length: 3 }, () => connection(own, owner));
    const [flood, few] = [taken('busy'), taken('calm')];
    const held: PoolClient[] = [];
    for (const each of [...flood, ...few]) void each.then((client) => held.push(client));
    await eventually(() => held.length === 3);
    expect([own.turns.heldBy(party('busy')), own.turns.heldBy(party('calm')), own.turns.waiting]).toEqual([1, 2, 3]);
    while (held.length > 0) {
      held.shift()!.release();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all([...flood, ...few]);
    held.forEach((client) => client.release());
    await own.end();
  });

  it('are given at once to who has one: two of a city cannot wait for each other', async () => {
    const other = await connection(pool, 'other');
    const nested = await workFor(new Working(party('deep'), many), () =>
      db.transaction().execute(async () => (await pool.query('select count(*) as n from cities')).rows),
    );
    expect(nested).toEqual([{ n: 0 }]);
    other.release();
    expect(pool.turns.taken).toBe(0);
  });

  it('are given to batches in turn as well, and not without one', async () => {
    class Notes extends GroupCommitter<string> {
      protected readonly noun = 'note';
      note = (city: string, text: string): Promise<string> => this.enqueue(city, text, text.length);
      protected hadEffect(): boolean {
        return false;
      }
      protected async flush(_city: string, texts: readonly string[]): Promise<string[]> {
        return (await pool.query<{ text: string }>('select unnest($1::text[]) as text', [texts])).rows.map(({ text }) => text);
      }
    }
    const held = await Promise.all(Array.from({ length: 6 }, (_, n) => connection(pool, `busy ${n}`)));
    const notes = new Notes();
    const noted = Promise.all(['one', 'two'].map((text) => notes.note('calm', text)));
    for (let n = 0; n < 3; n++) expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    const { waiting } = pool.turns;
    held.forEach((client) => client.release());
    expect([waiting, await noted]).toEqual([1, ['one', 'two']]);
    expect([pool.turns.taken, pool.turns.waiting]).toEqual([0, 0]);
  });

  it('go back when the statement fails, and when there is none', async () => {
    await expect(workFor(new Working(party('bad'), many), () => pool.query('select nothing'))).rejects.toThrow(/nothing/);
    const closed = createPool('postgres://nobody@127.0.0.1:1/none');
    await expect(connection(closed, 'bad')).rejects.toThrow(/ECONNREFUSED/);
    expect([pool.turns.taken, closed.turns.taken]).toEqual([0, 0]);
    await closed.end();
  });
});
