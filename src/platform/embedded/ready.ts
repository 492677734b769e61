import pg from 'pg';
import { sleep } from '../time/clock.js';
import type { ServerProcess } from './cluster.js';

/** Ours on the server. */
export const DATABASE = 'svc';

/** How long a server may give no answer, and after what time a person hears that it recovers. */
export class ReadyTimings {
  readonly answerMs: number = 60_000;
  readonly tellMs: number = 3_000;

  constructor(overrides: Partial<ReadyTimings> = {}) {
    Object.assign(this, overrides);
  }
}

export interface Waiting {
  readonly onStep?: ((what: string) => void) | undefined;
  /** Ends it. */
  readonly signal?: AbortSignal | undefined;
  readonly timings?: ReadyTimings | undefined;
}

/** What a server says that starts, or recovers. */
const CANNOT_CONNECT_NOW = '57P03';

/**
 * Waits until the server takes connections and holds our database. One that recovers answers that it does, for as long as that
 * takes: ended meanwhile it would begin again.
 */
export async function ready(
  server: Pick<ServerProcess, 'running' | 'lastLines'>,
  url: string,
  { onStep, signal, timings = new ReadyTimings() }: Waiting = {},
): Promise<void> {
  const began = performance.now();
  let answered = began;
  let isTold = false;
  for (;;) {
    signal?.throwIfAborted();
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [DATABASE]);
      if (rowCount === 0) await client.query(`create database ${DATABASE}`);
      return;
    } catch (error) {
      if (!server.running) throw new Error(`the embedded PostgreSQL ended while starting:\n${await server.lastLines()}`, { cause: error });
      const now = performance.now();
      if ((error as { code?: string }).code === CANNOT_CONNECT_NOW) {
        answered = now;
        if (!isTold && now - began > timings.tellMs) onStep?.('the database recovers');
        isTold ||= now - began > timings.tellMs;
      } else if (now - answered > timings.answerMs)
        throw new Error(`the embedded PostgreSQL does not answer:\n${await server.lastLines()}`, { cause: error });
    } finally {
      await client.end().catch(() => undefined);
    }
    await sleep(30, signal);
  }
}
