import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { COLUMN, COMMON, FUNCTIONS, HANGING, KEYS, kindOf, OWN, type Kind } from '../../../scripts/distribution.js';
import { cloneDatabase, type TestDatabase } from '../../../test/support/database.js';

interface Key {
  readonly table: string;
  readonly name: string;
  readonly columns: string[];
  /** Of a foreign key: what it leads to. */
  readonly to: string | null;
  readonly toColumns: string[] | null;
}
interface Made {
  readonly name: string;
  readonly args: string[];
  readonly body: string;
  readonly isTrigger: boolean;
}

const NAMES = (keys: string, of: string): string =>
  `array(select a.attname::text from unnest(${keys}) with ordinality k(n, at) join pg_attribute a on a.attrelid = ${of} and a.attnum = k.n order by at)`;
const IN_PUBLIC = `c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition and c.relname not like 'kysely%'`;

const COLUMNS = `
  select c.relname as table, array_agg(a.attname::text) as columns from pg_class c join pg_attribute a on a.attrelid = c.oid
  where ${IN_PUBLIC} and a.attnum > 0 and not a.attisdropped group by 1`;
const KEYS_OF = `
  select c.relname as table, x.relname as name, ${NAMES('i.indkey::int2[]', 'c.oid')} as columns, null as to, null::text[] as "toColumns"
  from pg_index i join pg_class x on x.oid = i.indexrelid join pg_class c on c.oid = i.indrelid where ${IN_PUBLIC} and i.indisunique
  union all
  select c.relname, k.conname, ${NAMES('k.conkey', 'c.oid')}, t.relname, ${NAMES('k.confkey', 't.oid')}
  from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_class t on t.oid = k.confrelid where ${IN_PUBLIC} and k.contype = 'f'`;
const MADE = `
  select p.proname as name, p.prosrc as body, p.prorettype = 'trigger'::regtype as "isTrigger",
    array(select coalesce(p.proargnames[n], '') || ' ' || format_type(t, null) from unnest(p.proargtypes) with ordinality a(t, n)) as args
  from pg_proc p where p.pronamespace = 'public'::regnamespace order by 1`;

/** Every table, key and function, for a schema that is divided by the stream of a city. */
describe('the schema, divided among servers', () => {
  let database: TestDatabase;
  let keys: Key[];
  let made: Made[];
  const columns = new Map<string, ReadonlySet<string>>();
  const kinds = new Map<string, Kind | undefined>();

  beforeAll(async () => {
    database = await cloneDatabase();
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    for (const row of (await client.query<{ table: string; columns: string[] }>(COLUMNS)).rows) {
      columns.set(row.table, new Set(row.columns));
      kinds.set(row.table, kindOf(row.table, columns.get(row.table)!));
    }
    keys = (await client.query<Key>(KEYS_OF)).rows;
    made = (await client.query<Made>(MADE)).rows;
    await client.end();
  });
  afterAll(() => database?.drop());

  const column = (table: string): string => OWN[table] ?? COLUMN;

  it('has each table with its city, on every server, or hanging from one of a city', () => {
    expect([...kinds].filter(([, kind]) => kind === undefined).map(([table]) => table)).toEqual([]);
    // No list names what is not there, or what needs no word any more.
    expect([...Object.keys(COMMON), ...Object.keys(HANGING), ...Object.keys(OWN)].filter((table) => !kinds.has(table))).toEqual([]);
    for (const [table, parent] of Object.entries(HANGING)) {
      expect([table, columns.get(table)!.has(COLUMN)]).toEqual([table, false]);
      expect([parent, kinds.get(parent)]).toEqual([parent, 'city']);
    }
  });

  it('has the stream of the city in every key of a table of cities, or says why not', () => {
    const has = ({ table, columns: own, to, toColumns }: Key): boolean => {
      const at = own.indexOf(column(table));
      // A foreign key leads to the same server, or to a table that every server has.
      return to === null ? at !== -1 : kinds.get(to) === 'common' || (at !== -1 && toColumns![at] === column(to));
    };
    const without = keys.filter((key) => kinds.get(key.table) === 'city' && !has(key));
    expect(without.map(({ name }) => name).sort()).toEqual(Object.keys(KEYS).sort());
  });

  it('has no key of a table that is everywhere that leads to a city, but to its stream', () => {
    const led = keys.filter(({ table, to }) => to !== null && kinds.get(table) === 'common' && kinds.get(to) === 'city');
    expect(led.map(({ name }) => name)).toEqual(['cities_stream_id_fkey']);
  });

  it('tells each function of whose city it works, or says why not', () => {
    const ofCities = [...kinds].filter(([, kind]) => kind === 'city' || kind === 'hanging').map(([table]) => table);
    const isTold = ({ args }: Made): boolean =>
      args.some((arg) => /^p_(stream integer|city text|stream text)$/.test(arg) || ofCities.some((table) => arg.endsWith(` ${table}`)));
    const unsure = made.filter((one) => {
      const tables = ofCities.filter((table) => new RegExp(`\\b${table}\\b`).test(one.body));
      // A trigger has the row of a city, and has to say so.
      return tables.length > 0 && (one.isTrigger ? !one.body.includes(COLUMN) : !isTold(one));
    });
    expect([...new Set(unsure.map(({ name }) => name))]).toEqual(Object.keys(FUNCTIONS).sort());
  });
});
