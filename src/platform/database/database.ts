import { Kysely } from 'kysely';
import pg from 'pg';
import { BeginningDialect } from './beginning.js';
import type { DB } from './schema.gen.js';
import { CONNECT_MS, DEFAULT_POOL_SIZE, PgPool } from './shared-pool.js';

export { DEFAULT_POOL_SIZE, PgPool };

/**
 * The database room: one pool a process, the Kysely instance over it, and the time limits that keep one slow
 * transaction from stopping everybody. It knows no table of the product.
 */
export type Database = DB;

/** Provider token and type of the query builder: `constructor(private readonly db: Db)`. */
export class Db extends Kysely<Database> {}

export interface PoolOptions {
  readonly max?: number;
  readonly applicationName?: string;
  /** Connections that a city has at once while it asks for much beside others; 1 unless said. */
  readonly beside?: number;
  /** It writes the log: each of its connections looks whether that is still the same one. */
  readonly log?: boolean;
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

/** What the address says in seconds, as for every client of the server; the driver alone knows no such parameter. */
function connectTimeoutMs(url: string): number | undefined {
  const said = URL.canParse(url) ? Number(new URL(url).searchParams.get('connect_timeout')) : NaN;
  return Number.isSafeInteger(said) && said > 0 ? said * 1_000 : undefined;
}

/**
 * Connection settings of every connection of the project: `lock_timeout` 2 s, `statement_timeout` 30 s,
 * `idle_in_transaction_session_timeout` 10 s, TCP keepalive; 5 s to connect, unless the address has a `connect_timeout`.
 */
export function connectionConfig(url: string, applicationName: string): pg.ClientConfig {
  return {
    ...withSettings(url, '-c lock_timeout=2000 -c statement_timeout=30000 -c idle_in_transaction_session_timeout=10000 -c timezone=UTC'),
    application_name: applicationName,
    types,
    keepAlive: true,
    connectionTimeoutMillis: connectTimeoutMs(url) ?? CONNECT_MS,
  };
}

export function createPool(url: string, options: PoolOptions = {}): PgPool {
  const pool = new PgPool({
    ...connectionConfig(url, options.applicationName ?? 'svc'),
    max: options.max ?? DEFAULT_POOL_SIZE,
    beside: options.beside,
    idleTimeoutMillis: 30_000,
    ...(options.log === true ? { onConnect: followLog } : {}),
  });
  // A connection that dies is reported by the query that needs it. Without a listener its `error` would end the
  // process: idle ones report through the pool, those that are checked out (between two queries) through the client.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

/**
 * Before anything is written over a new connection: a server that was promoted, or a database that was restored, may lack what was read.
 * The first who comes to it begins a new epoch of the log, and the others wait.
 */
async function followLog(client: pg.ClientBase): Promise<void> {
  await client.query('select follow_log_server()');
}

export function createDb(pool: PgPool): Db {
  return new Db({ dialect: new BeginningDialect({ pool }) });
}
