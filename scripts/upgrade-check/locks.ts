import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import type { Recorded } from './recorded.js';

/**
 * What keeps others waiting while it runs, on a table that may be large: squawk knows what PostgreSQL locks for how long. What breaks
 * statements instead of delaying them, and what is taste, is none of its business here.
 */
const RULES = {
  'require-concurrent-index-creation':
    'nobody can write meanwhile: `create index concurrently`, in a migration that ends in `_concurrently`',
  'require-concurrent-index-deletion': 'it waits for all who read, and all wait for it: `drop index concurrently`',
  'require-concurrent-reindex': 'nobody can write meanwhile: `reindex … concurrently`',
  'constraint-missing-not-valid':
    'nobody can write while all rows are looked at: `not valid` now, `validate constraint` in a later migration',
  'adding-foreign-key-constraint':
    'nobody can write to either table while all rows are looked at: `not valid` now, `validate constraint` later',
  'disallowed-unique-constraint':
    'nobody can read or write meanwhile: `create unique index concurrently`, then `add constraint … using index`',
  'adding-not-nullable-field': 'nobody can read or write while all rows are looked at',
  'adding-field-with-default': 'all rows are written anew: a default that is the same for all needs none of it',
  'adding-serial-primary-key-field': 'all rows are written anew',
  'changing-column-type': 'all rows are written anew, and nobody can read or write meanwhile',
  'ban-concurrent-index-creation-in-transaction': 'the migration has to end in `_concurrently`, and to do nothing else',
} as const;

/** Of these a deployment has few rows, and nothing that is done to them takes long. */
export const SMALL: Readonly<Record<string, string>> = {
  api_keys: 'a row a key',
  cities: 'a row a city',
  city_reservations: 'a row a city that is being made',
  deployment: 'one row',
  directories: 'a row a city and a rig',
  event_cursors: 'a row a reader',
  extmsg_adapters: 'a row an adapter',
  extmsg_connections: 'a row an adapter that is connected',
  processes: 'a row a process',
  provider_readiness: 'a row a process and a program',
  runners: 'a row a worker',
  store_looks: 'one row',
};

interface Finding {
  readonly line: number;
  readonly rule_name: string;
}

const CHANGED = /^\s*(?:update|delete\s+from|truncate(?:\s+table)?|lock\s+table|cluster|vacuum\s+full)\s+(?:only\s+)?"?([a-z_]+)/i;
const SETS_INDEX = /^\s*alter\s+index\s+\S+\s+(?:re)?set\s*\(/i;
const TABLE = /\b(?:on|alter\s+table(?:\s+if\s+exists)?)\s+(?:only\s+)?(?:public\.)?"?([a-z_]+)/i;

/** `small` says of further tables that they are, such as those with a row a city. */
export function* locks(recorded: readonly Recorded[], small: ReadonlySet<string>): Iterable<string> {
  const statements = recorded.flatMap(({ statements, ...of }) => statements.map((sql) => ({ ...of, sql })));
  const made = new Set(statements.flatMap(({ sql }) => /^\s*create\s+table\s+(?:if\s+not\s+exists\s+)?"?([a-z_]+)/i.exec(sql)?.[1] ?? []));
  const isLarge = (table: string): boolean => !(table in SMALL) && !small.has(table) && !made.has(table);
  for (const { migration, sql } of statements) {
    const changed = CHANGED.exec(sql)?.[1];
    if (changed !== undefined && isLarge(changed))
      yield `${migration}: ${headOf(sql)}: its rows may be many, and stay locked until the migration ends: the service changes them in batches`;
  }
  yield* heldMeanwhile(statements);
  // All in one text, so that a table that is made here is known to be empty.
  const texts = statements.map(({ sql }) => `${sql.replace(/;\s*$/, '')}\n;`);
  const ends = texts.map(
    (
      (lines) => (text: string) =>
        (lines += text.split('\n').length)
    )(0),
  );
  for (const { line, rule_name: rule } of squawk(texts.join('\n'))) {
    const { migration, alone, sql } = statements[ends.findIndex((end) => line < end)]!;
    const table = TABLE.exec(sql)?.[1];
    const isAlone = rule === 'ban-concurrent-index-creation-in-transaction' && alone;
    if (rule in RULES && !isAlone && (table === undefined || isLarge(table)))
      yield `${migration}: ${headOf(sql)}: ${RULES[rule as keyof typeof RULES]}`;
  }
}

/** A setting of an index locks out whoever reads or writes its table, until the transaction ends: nothing comes after it but others of its kind. */
function* heldMeanwhile(
  statements: readonly { readonly migration: string; readonly alone: boolean; readonly sql: string }[],
): Iterable<string> {
  let held: string | undefined;
  for (const { migration, alone, sql } of statements) {
    if (alone) held = undefined;
    else if (SETS_INDEX.test(sql)) held = headOf(sql);
    else if (held !== undefined) {
      yield `${migration}: ${headOf(sql)}: nobody can read or write the table meanwhile, since ${held}: that comes last, and what follows is \`alone\``;
      held = undefined;
    }
  }
}

const headOf = (sql: string): string => sql.trim().replace(/\s+/g, ' ').slice(0, 80);

function squawk(text: string): Finding[] {
  if (text === '') return [];
  const program = createRequire(import.meta.url).resolve('squawk-cli/js/bin/squawk');
  const given = ['--reporter', 'json', '--pg-version', '18.0', '--assume-in-transaction'];
  try {
    return JSON.parse(execFileSync(process.execPath, [program, ...given], { input: text, encoding: 'utf8' })) as Finding[];
  } catch (error) {
    const { stdout } = error as { stdout?: string };
    // It ends with 1 where it has found something.
    if (stdout === undefined || !stdout.trimStart().startsWith('[')) throw error;
    return JSON.parse(stdout) as Finding[];
  }
}
