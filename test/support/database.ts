import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { emptied, setUp } from './emptied.js';
import { endKeptConnection, keptConnection } from './kept-connections.js';

export interface TestDatabase {
  readonly url: string;
  /** Drops it. Fails when the test has left a transaction open: that would be a leak of the product. */
  drop(): Promise<void>;
}

function required(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run this file in the db or e2e project, which have the global set-up`);
  return value;
}

export function withDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
}

/** One statement on the server's maintenance database. */
export async function admin<R extends pg.QueryResultRow>(sql: string, values: unknown[] = []): Promise<R[]> {
  const client = await keptConnection(required('SVC_TEST_SERVER_URL'));
  return (await client.query<R>(sql, values)).rows;
}

export async function adminAt<R extends pg.QueryResultRow>(url: string, sql: string, values: unknown[] = []): Promise<R[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<R>(sql, values)).rows;
  } finally {
    await client.end();
  }
}

/** The time limit of a lock in production. */
export const LOCK_TIMEOUT_MS = 2_000;
/** A machine that has lost its processors to others for two seconds is not what tests are about. */
const PATIENT_LOCK_MS = 60_000;
const PATIENT_MS = 120_000;

/**
 * A database that nothing else uses, as the global set-up has migrated it. Its locks are waited for patiently. What a test of
 * this worker has given back is used again: emptying it costs 15 ms, cloning and dropping one 70.
 */
export async function cloneDatabase(lockTimeoutMs = PATIENT_LOCK_MS): Promise<TestDatabase> {
  const known = free.pop();
  const name = known ?? (await create(`template ${required('SVC_TEST_TEMPLATE')} strategy file_copy`));
  const address = new URL(withDatabase(required('SVC_TEST_SERVER_URL'), name));
  if (known === undefined) await setUp(address.href);
  const patience = { lock_timeout: lockTimeoutMs, statement_timeout: PATIENT_MS, idle_in_transaction_session_timeout: PATIENT_MS };
  const options = Object.entries(patience).map(([name, ms]) => `-c ${name}=${ms}`);
  address.searchParams.set('options', options.join(' '));
  address.searchParams.set('connect_timeout', '60');
  return { url: address.href.replaceAll('+', '%20'), drop: () => giveBack(name) };
}

/** An empty database, for tests of the migrations themselves. */
export async function emptyDatabase(): Promise<TestDatabase> {
  const name = await create('template template0');
  return { url: withDatabase(required('SVC_TEST_SERVER_URL'), name), drop: () => drop(name) };
}

/** Databases of this worker that are as the template is. */
const free: string[] = [];

async function create(from: string): Promise<string> {
  const name = `${required('SVC_TEST_PREFIX')}_${randomBytes(4).toString('hex')}`;
  await admin(`create database ${name} ${from}`);
  return name;
}

/** Who has changed more than rows has spoilt the database for others: it is dropped. */
async function giveBack(name: string): Promise<void> {
  const { clean, open } = await emptied(withDatabase(required('SVC_TEST_SERVER_URL'), name));
  if (clean) free.push(name);
  else {
    await endKeptConnection(withDatabase(required('SVC_TEST_SERVER_URL'), name));
    await drop(name);
  }
  if (open.length > 0) throw new Error(`a transaction was left open: ${JSON.stringify(open)}`);
}

async function drop(name: string): Promise<void> {
  await admin(`drop database if exists ${name} with (force)`);
}
