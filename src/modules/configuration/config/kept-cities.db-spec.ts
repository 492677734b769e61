import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { cloneDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { createDb, createPool, type Db } from '../../../platform/database/database.js';
import type { AppConfig } from '../../../platform/config/config.js';
import { ConfigKeeperRepository } from './config-keeper.repository.js';
import { KeptCities } from './kept-cities.js';

const CITIES = 60;

let database: TestDatabase;
let db: Db;
/** How many rows each statement of the workers has answered. */
const rows: number[] = [];

beforeEach(async () => {
  database = await cloneDatabase();
  db = createDb(createPool(database.url));
  await sql`
    with streams as (insert into event_streams (name) select 'city-' || n from generate_series(1, ${CITIES}) n returning id, name)
    insert into cities (name, dir, stream_id, running) select name, '/' || name, id, true from streams`.execute(db);
});
afterEach(async () => {
  await db.destroy();
  await database.drop();
});

async function worker(name: string): Promise<KeptCities> {
  await sql`insert into processes (id, role, hostname, version) values (${name}, 'worker', 'h', '1')`.execute(db);
  return new KeptCities({ processId: name } as AppConfig, new ConfigKeeperRepository(counted()));
}

const counted = (): Db =>
  db.withPlugin({
    transformQuery: ({ node }) => node,
    transformResult: ({ result }) => {
      rows.push(result.rows.length);
      return Promise.resolve(result);
    },
  }) as Db;

const held = async (): Promise<Record<string, number>> => {
  const found = await sql<{ keeper: string | null; n: number }>`
    select keeper, count(*)::int as n from config_states group by keeper order by keeper nulls last`.execute(db);
  return Object.fromEntries(found.rows.map(({ keeper, n }) => [keeper ?? 'nobody', n]));
};

describe('the cities that workers look after', () => {
  it('are all of them of a worker that is alone, and are divided among those that come', async () => {
    const a = await worker('a');
    expect(await a.renew()).toHaveLength(CITIES);
    const [b, c] = [await worker('b'), await worker('c')];
    expect(await b.renew()).toHaveLength(0);
    expect(await a.renew()).toHaveLength(CITIES / 3);
    expect([(await b.renew()).length, (await c.renew()).length]).toEqual([CITIES / 3, CITIES / 3]);
    expect(await held()).toEqual({ a: CITIES / 3, b: CITIES / 3, c: CITIES / 3 });
  });

  // Guard: of what a worker leaves each of the others takes its share only.
  it('are divided among the others when a worker dies, whoever asks first', async () => {
    const all = [await worker('a'), await worker('b'), await worker('c')];
    for (const each of all) await each.renew();
    await sql`update processes set heartbeat_at = now() - interval '11 seconds' where id = 'a'`.execute(db);
    expect([(await all[1]!.renew()).length, (await all[2]!.renew()).length]).toEqual([CITIES / 2, CITIES / 2]);
    await all[2]!.release();
    expect(await held()).toEqual({ b: CITIES / 2, nobody: CITIES / 2 });
  });

  it('stay where they are when one has a few more', async () => {
    const [a, b] = [await worker('a'), await worker('b')];
    await a.renew();
    await b.renew();
    await sql`update cities set running = false where stream_id in (
      select stream_id from config_states where keeper = 'b' order by 1 limit 5)`.execute(db);
    expect([(await a.renew()).length, (await b.renew()).length]).toEqual([CITIES / 2, CITIES / 2 - 5]);
    await a.renew();
    expect(await held()).toEqual({ a: CITIES / 2, b: CITIES / 2 });
  });

  it('cost one statement that answers one row while nothing changes, and another place is found', async () => {
    const keeper = await worker('a');
    await keeper.renew();
    rows.length = 0;
    const first = await keeper.renew();
    expect(await keeper.renew()).toBe(first);
    expect(rows).toEqual([1, 1]);
    await sql`update cities set id = default, dir = '/elsewhere' where name = 'city-7'`.execute(db);
    const moved = await keeper.renew();
    expect(moved.find(({ name }) => name === 'city-7')?.path).toBe('/elsewhere');
    expect(moved).toHaveLength(CITIES);
  });
});
