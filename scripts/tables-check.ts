import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { TABLES } from './tables.js';

/**
 * Says which statement of the sources reads or writes a table that is not for its room: `npm run boundaries`. It knows tables by
 * their names in SQL and in Kysely's builders; whoever writes through a function of the database is not seen, the function is.
 */
const root = fileURLToPath(new URL('../', import.meta.url));
const OTHERS = /\.(spec|db-spec|deep-spec)\.ts$|\/testing\/|\.gen\.ts$|^src\/(cli|contract)\//;
const COMMENTS = /\/\*[\s\S]*?\*\/|^\s*(\/\/|--).*$/gm;
const WRITES = /(?:insert into|delete from|(?<!\b(?:for|do|key) )update|(?:insertInto|deleteFrom|updateTable)\(')\s*([a-z_]+)/g;
const READS = /(?:(?<!delete )\bfrom|\bjoin|\busing|(?:selectFrom|innerJoin|leftJoin)\(')\s*([a-z_]+)/g;

/** As in `work/beads`, `platform/streams` or `functions/beads`. */
function roomOf(file: string): string {
  const [top, ...rest] = file.split('/');
  if (top === 'db') return `functions/${rest[1]}`;
  return rest[0] === 'modules' ? `${rest[1]}/${rest[2]}` : `${rest[0]}/${rest[1]}`;
}

const known = (names: readonly string[], room: string): boolean => names.some((name) => name === room || room.startsWith(`${name}/`));

const faults = new Set<string>();
const used = new Set<string>();
const files = globSync(['src/**/*.ts', 'db/functions/**/*.sql'], { cwd: root }).filter((file) => !OTHERS.test(file));
for (const file of files) {
  const text = readFileSync(`${root}${file}`, 'utf8').replace(COMMENTS, '');
  const room = roomOf(file);
  for (const [pattern, what] of [
    [WRITES, 'writes'],
    [READS, 'reads'],
  ] as const)
    for (const [, table = ''] of text.matchAll(pattern)) {
      const owner = TABLES[table];
      if (owner === undefined) continue;
      const names = what === 'writes' ? owner.writes : [...owner.writes, ...owner.reads];
      for (const name of names) if (known([name], room)) used.add(`${table} ${what} ${name}`);
      if (!known(names, room)) faults.add(`${file}: ${room} ${what} ${table}, which is for ${names.join(', ')}`);
    }
}
// What nobody does any more is not allowed either.
for (const [table, { writes, reads }] of Object.entries(TABLES)) {
  for (const name of writes) if (!used.has(`${table} writes ${name}`)) faults.add(`scripts/tables.ts: ${name} does not write ${table}`);
  for (const name of reads) if (!used.has(`${table} reads ${name}`)) faults.add(`scripts/tables.ts: ${name} does not read ${table}`);
}
const schema = readFileSync(`${root}db/schema.sql`, 'utf8');
for (const [, table = ''] of schema.matchAll(/^create table (?:public\.)?([a-z_]+)/gim))
  if (!(table in TABLES) && !/_\d+$/.test(table)) faults.add(`scripts/tables.ts: whose ${table} is, is not said`);
for (const fault of faults) console.error(fault);
console.log(`${Object.keys(TABLES).length} tables, ${files.length} files, ${faults.size} faults`);
process.exitCode = faults.size === 0 ? 0 : 1;
