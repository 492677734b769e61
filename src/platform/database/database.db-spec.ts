import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { emptyDatabase, type TestDatabase } from '../../../test/support/database.js';
import { connectionConfig, createPool } from './database.js';

let database: TestDatabase;

beforeEach(async () => {
  database = await emptyDatabase();
});
afterEach(() => database.drop());

async function settings(url: string): Promise<Record<string, string>> {
  const pool = createPool(url, { applicationName: 'looking' });
  try {
    const names = [
      'lock_timeout',
      'statement_timeout',
      'idle_in_transaction_session_timeout',
      'TimeZone',
      'application_name',
      'search_path',
    ];
    const { rows } = await pool.query<{ name: string; value: string }>(
      'select n as name, current_setting(n) as value from unnest($1::text[]) n',
      [names],
    );
    return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
  } finally {
    await pool.end();
  }
}

const OURS = {
  lock_timeout: '2s',
  statement_timeout: '30s',
  idle_in_transaction_session_timeout: '10s',
  TimeZone: 'UTC',
  application_name: 'looking',
};

describe('a connection', () => {
  it('has the limits of the project', async () => {
    expect(await settings(database.url)).toMatchObject(OURS);
  });

  it('keeps them when its address sets options: those are added', async () => {
    const url = `${database.url}?options=${encodeURIComponent('-c lock_timeout=7000 -c search_path=elsewhere')}`;
    expect(await settings(url)).toEqual({ ...OURS, lock_timeout: '7s', search_path: 'elsewhere' });
  });

  it('waits to be made for as long as its address says, and is made then', async () => {
    const wait = (query: string): number | undefined => connectionConfig(`${database.url}${query}`, 'looking').connectionTimeoutMillis;
    expect(['', '?connect_timeout=60', '?connect_timeout=0', '?connect_timeout=soon'].map(wait)).toEqual([5_000, 60_000, 5_000, 5_000]);
    expect(await settings(`${database.url}?connect_timeout=60`)).toMatchObject(OURS);
  });
});
