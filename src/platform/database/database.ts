import { Kysely, sql, type DatabaseIntrospector, type TableMetadata } from 'kysely';
import pg from 'pg';
import { BeginningDialect } from './beginning.js';
import { HangingConnections } from './hanging.js';
import { preparingClient } from './prepared-statements.js';
import type { DB } from './schema.gen.js';
import { clientOf, noPrimary, serversOf, type DatabaseServers } from './servers.js';
import { CONNECT_MS, DEFAULT_POOL_SIZE, PgPool, type Epoch } from './shared-pool.js';

export { DEFAULT_POOL_SIZE, PgPool, type Epoch };

/**
 * The database room: one pool a process, the Kysely instance over it, and the time limits that keep one slow
 * transaction from stopping everybody. It knows no table of the product.
 */
export type Database = DB;

/** Provider token and type of the query builder: `constructor(private readonly db: Db)`. */
export class Db extends Kysely<Database> {
  /** At the most. */
  connections = DEFAULT_POOL_SIZE;

  /**
   * What Kysely's migrator asks is whether its own two tables are there, three times a step. The dialect's answer reads every column of every
   * table, which took half of the time in which a new database is migrated.
   */
  override get introspection(): DatabaseIntrospector {
    return { getSchemas: () => Promise.resolve([]), getTables: () => tablesOf(this) };
  }
}

/** The tables on the search path, without their columns. */
async function tablesOf(db: Db): Promise<TableMetadata[]> {
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_class where relkind in ('r', 'p') and pg_table_is_visible(oid) and relnamespace <> 'pg_catalog'::regnamespace`.execute(
    db,
  );
  return rows.map(({ name }) => ({ name, isView: false, isForeign: false, columns: [] }));
}

export interface PoolOptions {
  readonly max?: number | undefined;
  readonly applicationName?: string;
  /** Connections that a city has at once while it asks for much beside others; 1 unless said. */
  readonly beside?: number;
  /** It writes the log: each of its connections looks whether that is still the same one. */
  readonly log?: boolean;
  /** The address is a pooler's, which gives a connection to another client after each transaction. */
  readonly pooled?: boolean;
}

const INT8 = 20;
const NUMERIC = 1700;

/** int8 and numeric arrive as numbers: seqs and counts stay far below 2^53. Timestamps arrive as Date. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary'): unknown =>
    oid === INT8 || oid === NUMERIC ? Number : pg.types.getTypeParser(oid, format as 'text')) as pg.CustomTypesConfig['getTypeParser'],
};

/**
 * The address and the start-up options of a connection with these settings. What the address itself sets with its `options`
 * comes after them: the driver alone would let it replace them all.
 */
export function withSettings(url: string, settings: string): Required<Pick<pg.ClientConfig, 'connectionString' | 'options'>> {
  if (!URL.canParse(url)) return { connectionString: url, options: settings };
  const address = new URL(url);
  const own = address.searchParams.get('options');
  if (own === null) return { connectionString: url, options: settings };
  address.searchParams.delete('options');
  return { connectionString: address.href, options: `${settings} ${own}` };
}

const SETTINGS = {
  lock_timeout: '2000',
  statement_timeout: '30000',
  idle_in_transaction_session_timeout: '10000',
  timezone: 'UTC',
} as const;

/**
 * The same settings for a database behind a pooler, which connects for whoever comes and passes none on: the role has them there. Statement
 * for the migrate step.
 */
export const SETTINGS_OF_ROLE = `do $$ begin ${Object.entries(SETTINGS)
  .map(([name, value]) => `execute format('alter role current_user in database %I set ${name} = ''${value}''', current_database());`)
  .join(' ')} end $$`;

/**
 * What a pooler of transactions can pass on: the next statement of a client may come to another connection, which knows no statement that
 * was prepared. PgBouncer keeps account of them from 1.21 on; this asks nothing of it.
 */
class Unprepared extends pg.Client {
  override query(...args: unknown[]): never {
    const [config] = args;
    if (typeof config === 'object' && config !== null && 'name' in config && !('submit' in config))
      args[0] = { ...config, name: undefined };
    return (super.query as (...given: unknown[]) => unknown)(...args) as never;
  }
}

/** Without traffic. Nobody on the way forgets a connection in that time, and one to a server that is gone is over 10 s later. */
export const KEEP_ALIVE_MS = 10_000;

/** What the address says in seconds, as for every client of the server; the driver alone knows no such parameter. */
function connectTimeoutMs(url: string): number | undefined {
  const said = URL.canParse(url) ? Number(new URL(url).searchParams.get('connect_timeout')) : NaN;
  return Number.isSafeInteger(said) && said > 0 ? said * 1_000 : undefined;
}

/**
 * Connection settings of every connection of the project: `lock_timeout` 2 s, `statement_timeout` 30 s,
 * `idle_in_transaction_session_timeout` 10 s, TCP keepalive; 5 s to connect, unless the address has a `connect_timeout`.
 */
export function connectionConfig(url: string, applicationName: string, pooled = false): pg.ClientConfig {
  const settings = Object.entries(SETTINGS).map(([name, value]) => `-c ${name}=${value}`);
  return {
    ...(pooled ? { connectionString: url } : withSettings(url, settings.join(' '))),
    application_name: applicationName,
    types,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    connectionTimeoutMillis: connectTimeoutMs(url) ?? CONNECT_MS,
  };
}

function clientFor(servers: DatabaseServers, pooled = false): typeof pg.Client {
  const client = pooled ? (Unprepared as typeof pg.Client) : preparingClient();
  return servers.many ? clientOf(servers, client) : client;
}

/** @param url may name several hosts: each connection then goes to the one that takes writes */
export function createPool(url: string, options: PoolOptions = {}): PgPool {
  const servers = serversOf(url);
  const looking = (client: pg.ClientBase): Promise<void> => look(client, servers, options.log === true ? pool : undefined);
  const config = connectionConfig(servers.addresses[0]!, options.applicationName ?? 'svc', options.pooled);
  const pool: PgPool = new PgPool({
    ...config,
    Client: new HangingConnections(config, servers, options.pooled).watching(clientFor(servers, options.pooled)),
    max: options.max ?? DEFAULT_POOL_SIZE,
    beside: options.beside,
    idleTimeoutMillis: 30_000,
    // The pool waits for it; its types do not say so.
    onConnect: looking as (client: pg.ClientBase) => unknown as (client: pg.ClientBase) => void,
  });
  // A connection that dies is reported by the query that needs it. Without a listener what the pool hears of idle ones would end the process.
  pool.on('error', () => undefined);
  return pool;
}

/**
 * Before anything is asked over a new connection. Of several servers it may be one that was a standby all along, or is one again. And a
 * server that was promoted, or a database that was restored, may lack what was read: the first who comes to it begins a new epoch of the
 * log, and the others wait. What it lacks may be an epoch, too: whoever has seen that says so.
 *
 * @param seen the pool of connections that write the log
 */
async function look(client: pg.ClientBase, servers: DatabaseServers, seen: PgPool | undefined): Promise<void> {
  if (servers.many) {
    const { rows } = await client.query<{ standby: boolean }>('select pg_is_in_recovery() as standby');
    if (rows[0]!.standby) {
      servers.forget();
      throw noPrimary('this host of SVC_DATABASE_URL is a standby');
    }
  }
  if (seen === undefined) return;
  await followLog(client, seen);
}

/** Tells the database which epoch of the log the process of this pool has seen. One that knows nothing of that begins the next. */
export async function followLog(asked: Pick<pg.ClientBase, 'query'>, pool: PgPool): Promise<void> {
  const { epoch, id } = pool.seenEpoch;
  const { rows } = await asked.query<Epoch>('select epoch, id from follow_log_epoch($1, $2)', [epoch, id]);
  pool.sawEpoch(rows[0]!);
}

export function createDb(pool: PgPool): Db {
  const db = new Db({ dialect: new BeginningDialect({ pool }) });
  db.connections = pool.options.max;
  return db;
}
