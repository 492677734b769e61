import type { Socket } from 'node:net';
import type pg from 'pg';
import type { PgPool } from '../../../../platform/database/database.js';

/**
 * What a SIGKILL does to a pool: every connection is cut and no other is made. Ending the pool is not that: transactions
 * that are open could still commit, and who has asked for a connection a moment before waits for it for a minute.
 */
export function cutOff(pool: PgPool): void {
  const refused = new Error('this process was killed');
  pool.connect = ((answer?: (error: Error) => void) =>
    answer === undefined ? Promise.reject(refused) : answer(refused)) as typeof pool.connect;
  pool.on('connect', cut);
  for (const client of (pool as unknown as { _clients: pg.PoolClient[] })._clients) cut(client);
}

function cut(client: pg.PoolClient): void {
  (client as unknown as { connection: { stream: Socket } }).connection.stream.destroy();
}
