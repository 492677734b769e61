import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { cloneDatabase, type TestDatabase } from '../../../test/support/database.js';

/** `db/functions/TABLE/NAME.sql` is what is reviewed of a function; what the migrations have made of it must be the same. */
const ROOT = 'db/functions';

interface Row {
  readonly name: string;
  readonly args: string;
  /** All but the body. */
  readonly head: string;
  readonly body: string;
  /** This transaction has made it, or made it anew. */
  readonly made: boolean;
}

const FUNCTIONS = `
  select p.proname as name, pg_get_function_identity_arguments(p.oid) as args, replace(pg_get_functiondef(p.oid), p.prosrc, '') as head,
    p.prosrc as body, p.xmin = pg_current_xact_id()::xid as made
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname = 'public'`;

let database: TestDatabase;
let client: pg.Client;
/** By file, what it makes. */
const made = new Map<string, Row[]>();

beforeAll(async () => {
  database = await cloneDatabase();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
  for (const file of await readdir(ROOT, { recursive: true })) if (file.endsWith('.sql')) made.set(file, await madeBy(file));
});
afterAll(async () => {
  await client?.end();
  await database?.drop();
});

const read = (file: string): Promise<string> => readFile(path.join(ROOT, file), 'utf8');

/** The functions that a file makes, and nothing of it is left. */
async function madeBy(file: string): Promise<Row[]> {
  await client.query('begin');
  try {
    await client.query(await read(file));
    return (await client.query<Row>(FUNCTIONS)).rows.filter(({ made }) => made);
  } finally {
    await client.query('rollback');
  }
}

/** Migrations indent what files do not. */
function texts(rows: readonly Row[]): Record<string, string> {
  return Object.fromEntries(
    rows.map(({ name, args, head, body }) => {
      const lines = body.trimEnd().split('\n');
      const least = Math.min(...lines.filter((line) => line.trim() !== '').map((line) => line.length - line.trimStart().length));
      return [`${name}(${args})`, `${head}\n${lines.map((line) => line.slice(least)).join('\n')}`];
    }),
  );
}

describe('the functions of the database', () => {
  it('are what their files say, all of them', async () => {
    const { rows } = await client.query<Row>(FUNCTIONS);
    expect(texts([...made.values()].flat())).toEqual(texts(rows));
  });

  it('have a file each, which begins with what they are for, beside those of their table', async () => {
    const { rows } = await client.query<{ name: string }>(`select tablename as name from pg_tables where schemaname = 'public'`);
    const tables = new Set(rows.map(({ name }) => name));
    const wrong: string[] = [];
    for (const [file, functions] of made) {
      const [table, name] = [path.dirname(file), path.basename(file, '.sql')];
      const others = functions.filter((each) => each.name !== name);
      if (!tables.has(table)) wrong.push(`${file}: there is no table ${table}`);
      if (!(await read(file)).startsWith('-- ')) wrong.push(`${file} does not begin with a comment`);
      for (const other of others) wrong.push(`${file} also makes ${other.name}`);
    }
    expect(wrong).toEqual([]);
  });
});
