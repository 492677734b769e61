import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { cloneDatabase, type TestDatabase } from '../../../test/support/database.js';

/** A table has one row a city where its stream is a key by itself, and the log is read by positions. */
const OF_MANY = `
  select c.relname as name, coalesce(a.attoptions @> '{n_distinct=100}', false) as large
  from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'stream_id' and not a.attisdropped
  where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and c.relname not like 'event%' and not exists (
    select from pg_index i where i.indrelid = c.oid and i.indisunique and i.indnkeyatts = 1 and i.indkey[0] = a.attnum)
  order by 1`;
/** One of a city, or its texts by their hash. */
const FEW = ['cities', 'config_texts'];

describe('a plan that is made once for all cities', () => {
  let database: TestDatabase;
  let client: pg.Client;

  beforeAll(async () => {
    database = await cloneDatabase();
    client = new pg.Client({ connectionString: database.url });
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  it('takes each city for a large one in every table of which it may have many rows', async () => {
    const { rows } = await client.query<{ name: string; large: boolean }>(OF_MANY);
    expect(rows.length).toBeGreaterThan(25);
    expect(rows.filter(({ large }) => !large).map(({ name }) => name)).toEqual(FEW);
  });

  // Guard: beads are found by their ids also where a city has a handful on average, and one has nearly all.
  it('finds what it is told by its key, where most cities have a handful and one has nearly all', async () => {
    await client.query(`
      insert into beads (stream_id, id, title) select n, 'b-1', 'x' from generate_series(1, 7000) n
      union all select 1, 'c-' || n, 'x' from generate_series(1, 7000) n`);
    await client.query('analyze beads');
    const planned = async (statement: string): Promise<string> => {
      const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain (generic_plan) ${statement}`);
      return rows.map((row) => row['QUERY PLAN']).join('\n');
    };
    for (const statement of [
      "update beads b set status = 'open' from unnest($2::text[]) t (id) where b.stream_id = $1 and b.id = t.id",
      'select b.* from bead_dependencies d join beads b on b.stream_id = d.stream_id and b.id = d.issue_id where d.stream_id = $1 and d.depends_on_id = $2',
    ])
      expect(await planned(statement)).toMatch(/Index Scan using beads_pkey on beads b .*\n *Index Cond: \(\(stream_id = .*\) AND \(id = /);
  });
});
