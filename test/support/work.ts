import type { Socket } from 'node:net';
import { sql } from 'kysely';
import type { CityScope } from '../../src/modules/tenancy/cities/city-scope.js';
import { WorkRepository } from '../../src/modules/work/work/work.repository.js';
import { WorkService } from '../../src/modules/work/work/work.service.js';
import { createDb, createPool, type Db, type PgPool } from '../../src/platform/database/database.js';
import { Transactions } from '../../src/platform/database/transactions.js';
import { EventLog } from '../../src/platform/event-log/event-log.js';
import { MovedStreams } from '../../src/platform/event-log/moved.js';
import { Failpoints } from '../../src/platform/failpoints/failpoints.js';
import { cloneDatabase } from './database.js';
import { registerCity } from './registry.js';

export interface LoggedEvent {
  readonly seq: number;
  readonly type: string;
  readonly actor: string;
  readonly subject: string | null;
  readonly message: string | null;
  readonly payload: Record<string, unknown>;
}

export interface WorkFixture {
  readonly db: Db;
  readonly pool: PgPool;
  readonly transactions: Transactions;
  readonly eventLog: EventLog;
  readonly moved: MovedStreams;
  readonly failpoints: Failpoints;
  /** A running city `alpha` (prefix `al`) with the rigs `web` (`web`) and `core` (`co`). */
  readonly city: CityScope;
  readonly work: WorkService;
  /** Another process's service on the same database, with a pool of its own. */
  another(): WorkService;
  /** One more process, whose connection is lost at its nth statement from now on: 1 is the next. */
  mortal(): { readonly work: WorkService; dieAt(statement: number | undefined): void };
  /** The city's events above `seq`. */
  events(above?: number): Promise<LoggedEvent[]>;
  close(): Promise<void>;
}

/** Two of the city's own, and agents of its rigs, of which two share their bare name. */
const AGENTS = [
  ['mayor', 'mayor', '', 'agent'],
  ['deacon', 'deacon', '', 'named_session'],
  ['web/polecat', 'polecat', 'web', 'agent'],
  ['web/witness', 'witness', 'web', 'agent'],
  ['core/polecat', 'polecat', 'core', 'agent'],
] as const;

/** A cloned database with one running city, for tests below HTTP. */
export async function workFixture(): Promise<WorkFixture> {
  const database = await cloneDatabase();
  const pool = createPool(database.url);
  const db = createDb(pool);
  const extra: PgPool[] = [];
  const build = (p: PgPool, d: Db) => {
    const failpoints = new Failpoints();
    const moved = new MovedStreams();
    const transactions = new Transactions(d, failpoints);
    const eventLog = new EventLog(moved);
    return { pool: p, failpoints, moved, transactions, eventLog, work: new WorkService(transactions, eventLog, new WorkRepository()) };
  };
  const city = await registerCity(db, 'alpha', '/alpha');
  await sql`insert into rigs (stream_id, name, prefix, position) values (${city.streamId}, '', 'al', 0), (${city.streamId}, 'web', 'web', 1), (${city.streamId}, 'core', 'co', 2)`.execute(
    db,
  );
  for (const [name, base, rig, kind] of AGENTS)
    await sql`insert into agents (stream_id, name, base, rig, kind) values (${city.streamId}, ${name}, ${base}, ${rig}, ${kind})`.execute(
      db,
    );
  return {
    db,
    ...build(pool, db),
    city,
    another: () => {
      const p = createPool(database.url);
      extra.push(p);
      return build(p, createDb(p)).work;
    },
    mortal: () => {
      const p = createPool(database.url);
      extra.push(p);
      let left: number | undefined;
      p.on('connect', (client) => {
        const send = client.query.bind(client) as (...args: unknown[]) => unknown;
        client.query = ((...args: unknown[]) => {
          if (left !== undefined && --left === 0) (client as unknown as { connection: { stream: Socket } }).connection.stream.destroy();
          return send(...args);
        }) as typeof client.query;
      });
      return { work: build(p, createDb(p)).work, dieAt: (statement) => (left = statement) };
    },
    events: async (above = 0) =>
      (await db
        .selectFrom('events')
        .select(['seq', 'type', 'actor', 'subject', 'message', 'payload'])
        .where('stream_id', '=', city.streamId)
        .where('seq', '>', above)
        .orderBy('seq')
        .execute()) as unknown as LoggedEvent[],
    close: async () => {
      for (const p of extra) await p.end();
      await db.destroy();
      await database.drop();
    },
  };
}
