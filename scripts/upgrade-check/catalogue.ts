import type pg from 'pg';

/** What the catalogue says of a schema, as far as those who have written their statements for another one depend on it. */
export interface Catalogue {
  readonly tables: ReadonlySet<string>;
  /** By `table.column`. */
  readonly columns: ReadonlyMap<string, Column>;
  /** By `table name`. */
  readonly rules: ReadonlyMap<string, Rule>;
  /** By `name(arguments)`, what comes back. */
  readonly functions: ReadonlyMap<string, string>;
}

export interface Column {
  readonly table: string;
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  /** Without being given it has a value. */
  readonly filled: boolean;
  /** Nobody may give it one. */
  readonly computed: boolean;
}

/** What a row has to be. */
export interface Rule {
  readonly table: string;
  readonly name: string;
  readonly kind: 'check' | 'unique' | 'foreign' | 'exclusion';
  readonly text: string;
  /** Empty where it is about more than columns as they stand. */
  readonly columns: readonly string[];
}

const OURS = `n.nspname = 'public' and c.relkind in ('r', 'p') and not c.relispartition and c.relname not like 'kysely%'`;

const TABLES = `select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace where ${OURS}`;

const COLUMNS = `
  select c.relname as table, a.attname as name, format_type(a.atttypid, a.atttypmod) as type, a.attnotnull as required,
    a.atthasdef or a.attidentity <> '' as filled, a.attidentity = 'a' or a.attgenerated <> '' as computed
  from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
  where ${OURS} and a.attnum > 0 and not a.attisdropped`;

const COLUMNS_OF = (numbers: string, of: string): string =>
  `array(select a.attname::text from unnest(${numbers}) k join pg_attribute a on a.attrelid = ${of} and a.attnum = k order by 1)`;

const CONSTRAINTS = `
  select c.relname as table, k.conname as name, replace(pg_get_constraintdef(k.oid), ' NOT VALID', '') as text, ${COLUMNS_OF('k.conkey', 'c.oid')} as columns,
    case k.contype when 'c' then 'check' when 'f' then 'foreign' when 'x' then 'exclusion' else 'unique' end as kind
  from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_namespace n on n.oid = c.relnamespace
  where ${OURS} and k.contype in ('c', 'f', 'x', 'p', 'u')`;

/** What an expression is about is not taken apart. */
const UNIQUE_INDEXES = `
  select c.relname as table, x.relname as name, pg_get_indexdef(i.indexrelid) as text, 'unique' as kind,
    case when i.indexprs is null then ${COLUMNS_OF('i.indkey::int2[]', 'c.oid')} else '{}' end as columns
  from pg_index i join pg_class x on x.oid = i.indexrelid join pg_class c on c.oid = i.indrelid join pg_namespace n on n.oid = c.relnamespace
  where ${OURS} and i.indisunique and not exists (select 1 from pg_constraint k where k.conindid = i.indexrelid)`;

const FUNCTIONS = `
  select p.proname || '(' || oidvectortypes(p.proargtypes) || ')' as name, pg_get_function_result(p.oid) as result
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname = 'public' and p.prorettype <> 'trigger'::regtype`;

export async function catalogue(client: pg.Client): Promise<Catalogue> {
  const rows = async <Row extends object>(text: string): Promise<Row[]> => (await client.query<Row>(text)).rows;
  const rules = [...(await rows<Rule>(CONSTRAINTS)), ...(await rows<Rule>(UNIQUE_INDEXES))];
  return {
    tables: new Set((await rows<{ name: string }>(TABLES)).map(({ name }) => name)),
    columns: new Map((await rows<Column>(COLUMNS)).map((one) => [`${one.table}.${one.name}`, one])),
    rules: new Map(rules.map((one) => [`${one.table} ${one.name}`, one])),
    functions: new Map((await rows<{ name: string; result: string | null }>(FUNCTIONS)).map(({ name, result }) => [name, result ?? ''])),
  };
}
