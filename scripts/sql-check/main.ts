import { fileURLToPath } from 'node:url';
import { migrate } from '../../src/platform/database/migrator.js';
import { adminAt } from '../../test/support/database.js';
import { scratchDatabase } from '../../test/support/scratch-database.js';
import { CROSSING, kindOf } from '../distribution.js';
import { Check, CROSSES } from './check.js';
import { Crossing } from './crossing.js';
import { Described } from './described.js';
import { KNOWN, type Known } from './known.js';
import { PLANTED } from './planted-faults.js';
import { Reading } from './reading.js';
import { placeOf, Sources } from './sources.js';
import { statementsOf } from './statements.js';

/**
 * `npm run sql:check`: reads every statement of `src` that is written in SQL, has PostgreSQL describe it against the migrated schema,
 * and compares what is given, and what comes back, with the types around it. Nothing is carried out.
 */
const root = fileURLToPath(new URL('../../', import.meta.url));
const planted = `${root}scripts/sql-check/planted.ts`;

const all: readonly Known[] = [...KNOWN, ...Object.entries(CROSSING).map(([file, why]) => ({ file, fault: CROSSES, why }))];

const database = await scratchDatabase();
const described = new Described(database.url);
try {
  await migrate(database.url);
  await described.open();
  const sources = new Sources(root, [planted]);
  const check = new Check(sources, new Reading(sources), described);
  await check.open();
  check.crossing = new Crossing(await tablesOfCities(database.url));
  const unused = new Set(all);
  const faults: string[] = [];
  const found: string[] = [];
  const statements = statementsOf(sources);
  for (const statement of statements) {
    const { fileName } = statement.node.getSourceFile();
    for (const fault of await check.faults(statement)) {
      const known = all.find((one) => fileName === `${root}${one.file}` && fault.startsWith(one.fault));
      if (fileName === planted) found.push(fault);
      else if (known === undefined) faults.push(`${placeOf(statement.node, root)}: ${fault}`);
      else unused.delete(known);
    }
  }
  for (const { file, fault } of unused) faults.push(`${file}: "${fault}" is known to the check and is not there any more`);
  // Who finds nothing at all would find nothing wrong.
  if (JSON.stringify(found) !== JSON.stringify(PLANTED)) faults.push(`of what is planted is found:\n  ${found.join('\n  ')}`);
  for (const fault of faults) console.error(fault);
  console.log(`${statements.length} statements, ${check.ways} ways, ${faults.length} faults`);
  process.exitCode = faults.length === 0 ? 0 : 1;
} finally {
  await described.close();
  await database.drop();
}

async function tablesOfCities(url: string): Promise<string[]> {
  const columns = await adminAt<{ table: string; columns: string[] }>(
    url,
    `select c.relname as table, array_agg(a.attname::text) as columns from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and a.attnum > 0 group by 1`,
  );
  return columns
    .filter(({ table, columns: of }) => ['city', 'hanging'].includes(kindOf(table, new Set(of)) ?? ''))
    .map(({ table }) => table);
}
