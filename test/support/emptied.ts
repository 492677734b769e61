import pg from 'pg';
import { keptConnection } from './kept-connections.js';

/** Tables whose rows say what the schema is. */
const KEPT = ['public.kysely_migration', 'public.kysely_migration_lock', 'bullmq.migration'];
/** Only a superuser takes triggers away. */
const INSUFFICIENT_PRIVILEGE = '42501';
const OURS = `in (select oid from pg_namespace where nspname in ('public', 'bullmq'))`;

/** What a migrated database looks like before anybody has used it. One a worker: all come from one template. */
interface Template {
  readonly schema: string;
  /** Makes a function that empties every table that has rows, restarts the counters and puts back the rows that the migrations have made. */
  readonly clear: string;
}

let template: Promise<Template> | undefined;

/** Bytes of a table above which a new database costs less than its emptying, and leaves no pages behind that a plan would count. */
const LARGE = 8 << 20;

/**
 * How many objects there are, when the newest was made or replaced, which migrations are told, what plans are made after (`analyze` and `vacuum`
 * write that in place, under no new `xmin`), and how many tables have become large. Reading the definitions themselves takes 20 ms, and
 * `pg_table_size`, which looks at eight files of a table, five.
 */
const SCHEMA = `select concat_ws(' ',
  (select concat_ws(' ', count(*), max(xmin::text::bigint)) from pg_class where relnamespace ${OURS}),
  (select concat_ws(' ', sum(reltuples), sum(relpages),
      count(*) filter (where relkind = 'r' and pg_relation_size(oid) + coalesce(pg_relation_size(nullif(reltoastrelid, 0)), 0) > ${LARGE}))
    from pg_class where relkind in ('r', 'p') and relnamespace ${OURS}),
  (select concat_ws(' ', count(*), max(xmin::text::bigint)) from pg_proc where pronamespace ${OURS}),
  (select concat_ws(' ', count(*), max(xmin::text::bigint)) from pg_constraint where connamespace ${OURS}),
  (select concat_ws(' ', count(*), max(xmin::text::bigint)) from pg_trigger where not tgisinternal),
  (select concat_ws(' ', count(*), max(xmin::text::bigint)) from pg_namespace where nspname !~ '^pg_'),
  (select string_agg(setconfig::text, ' ') from pg_db_role_setting where setdatabase in (select oid from pg_database where datname = current_database())),
  (select md5(string_agg(name, ' ' order by name)) from public.kysely_migration)
) as schema`;

const OWN_DEPLOYMENT = 'update deployment set id = gen_random_uuid()';

export interface LeftOpen {
  readonly application_name: string;
  readonly query: string;
}

const END_OTHERS = `select application_name, query, state like 'idle in transaction%' and state_change < now() - interval '250 ms' as stuck,
    pg_terminate_backend(pid, 5000)
  from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`;

/** Makes a database that was just cloned one of its own: processes of agents are told apart by its deployment. */
export async function setUp(url: string): Promise<void> {
  const client = await keptConnection(url);
  template ??= read(client);
  await template;
  await client.query(OWN_DEPLOYMENT);
}

/**
 * Takes all rows away that were written, restarts the counters and puts back what the migrations have made.
 *
 * @returns whether the database is as the template again: it is not when a test has changed more than rows, or very many, when nobody can
 *   connect, or when our role may not do it; and the transactions that somebody has left open.
 */
export async function emptied(url: string): Promise<{ clean: boolean; open: LeftOpen[] }> {
  const known = await template;
  const client = await keptConnection(url).catch(() => undefined);
  if (client === undefined) return { clean: false, open: [] };
  const { rows } = await client.query<LeftOpen & { stuck: boolean }>({ name: 'end-others', text: END_OTHERS });
  const open = rows.filter(({ stuck }) => stuck).map(({ application_name, query }) => ({ application_name, query }));
  return { clean: known !== undefined && (await clear(client, known)), open };
}

/** The connections that have the function. It is temporary, so that no test sees it, and planned once, as the other statements here are. */
const prepared = new WeakSet<pg.Client>();

async function clear(client: pg.Client, known: Template): Promise<boolean> {
  if ((await schemaOf(client)) !== known.schema) return false;
  try {
    if (!prepared.has(client)) await client.query(known.clear);
    prepared.add(client);
    await client.query({ name: 'clear', text: 'select pg_temp.clear()' });
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === INSUFFICIENT_PRIVILEGE) return false;
    throw error;
  }
}

async function read(client: pg.Client): Promise<Template> {
  const { rows: tables } = await client.query<{ name: string }>(
    `select oid::regclass::text as name from pg_class where relkind in ('r', 'p') and relnamespace ${OURS} order by 1`,
  );
  const used = tables.map(({ name }) => name).filter((name) => !KEPT.includes(name.includes('.') ? name : `public.${name}`));
  const inserts: string[] = [];
  for (const name of used) {
    const { rows: found } = await client.query<{ all: unknown[] | null }>(`select json_agg(t) as all from ${name} t`);
    const all = found[0]!.all;
    if (all === null) continue;
    const values = pg.escapeLiteral(JSON.stringify(all));
    inserts.push(`insert into ${name} overriding system value select * from json_populate_recordset(null::${name}, ${values});`);
  }
  const { rows: counters } = await client.query<{ restart: string }>(
    `select format('perform setval(%L, %s, %L);', format('%I.%I', schemaname, sequencename), coalesce(last_value, start_value), last_value is not null) as restart
     from pg_sequences where schemaname in ('public', 'bullmq')`,
  );
  // A table that was never written to has no bytes. Without triggers a foreign key is not looked at: the order does not matter. Who changes the
  // role in each call has everything planned anew.
  const clear = `set session_replication_role = replica; create function pg_temp.clear() returns void language plpgsql as $clear$
    declare name text;
    begin
      for name in select t from unnest(${pg.escapeLiteral(`{${used.join(',')}}`)}::regclass[]) t where pg_relation_size(t) > 0 loop
        execute 'delete from ' || name;
      end loop;
      ${counters.map(({ restart }) => restart).join(' ')}
      ${inserts.join('\n')}
      ${OWN_DEPLOYMENT};
    end $clear$`;
  return { schema: await schemaOf(client), clear };
}

async function schemaOf(client: pg.Client): Promise<string> {
  return (await client.query<{ schema: string }>({ name: 'schema', text: SCHEMA })).rows[0]!.schema;
}
