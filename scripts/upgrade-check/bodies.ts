import type pg from 'pg';
import { wordsOf } from './breaks.js';
import type { Catalogue } from './catalogue.js';

interface Made {
  readonly name: string;
  readonly language: string;
  readonly definition: string;
  readonly body: string;
  /** Of a trigger: whose rows it is given. */
  readonly tables: readonly string[];
}

const FUNCTIONS = `
  select p.proname as name, l.lanname as language, pg_get_functiondef(p.oid) as definition, p.prosrc as body,
    array(select distinct c.relname::text from pg_trigger t join pg_class c on c.oid = t.tgrelid where t.tgfoid = p.oid) as tables
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace join pg_language l on l.oid = p.prolang
  where n.nspname = 'public' order by 1`;

/**
 * What the server's own functions say that the schema has no more: whoever calls them would be told when they run. Those in SQL are made
 * again, which reads all of them. What PL/pgSQL says is looked at when it runs, so there no name may stand that has gone.
 */
export async function bodies(client: pg.Client, old: Catalogue, now: Catalogue): Promise<string[]> {
  const faults: string[] = [];
  const gone = namesGone(old, now);
  await client.query('begin');
  try {
    for (const { name, language, definition, body, tables } of (await client.query<Made>(FUNCTIONS)).rows) {
      if (language === 'sql') {
        await client.query('savepoint one');
        const error = await client.query(definition).catch((error: Error) => error);
        await client.query('rollback to one');
        if (error instanceof Error) faults.push(`function ${name} says what is not there: ${error.message}`);
      } else {
        const words = new Set([...wordsOf(body), ...tables]);
        for (const all of gone)
          if (all.every((word) => words.has(word))) faults.push(`function ${name} says ${all.join('.')}, which is gone`);
      }
    }
  } finally {
    await client.query('rollback');
  }
  return faults;
}

/** Of a column with its table: others may have one of the same name. */
function namesGone(old: Catalogue, now: Catalogue): string[][] {
  const functions = ({ functions: all }: Catalogue): Set<string> => new Set([...all.keys()].map((key) => key.slice(0, key.indexOf('('))));
  const left = functions(now);
  return [
    ...[...old.tables].filter((table) => !now.tables.has(table)).map((table) => [table]),
    ...[...old.columns].filter(([key]) => !now.columns.has(key)).map(([, { table, name }]) => [table, name]),
    ...[...functions(old)].filter((name) => !left.has(name)).map((name) => [name]),
  ];
}
