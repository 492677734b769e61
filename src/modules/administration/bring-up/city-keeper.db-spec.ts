import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { cloneDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { eventually } from '../../../../test/support/sse.js';
import type { AppConfig } from '../../../platform/config/config.js';
import { createDb, createPool, type Db } from '../../../platform/database/database.js';
import type { DuePoller, DueWork } from '../../../platform/database/due-poller.js';
import { Transactions } from '../../../platform/database/transactions.js';
import { EventLog } from '../../../platform/event-log/event-log.js';
import { MovedStreams } from '../../../platform/event-log/moved.js';
import { Failpoints } from '../../../platform/failpoints/failpoints.js';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import { AppLogger, createLogger } from '../../../platform/logging/logger.js';
import { CitiesRepository, type CityRow } from '../../tenancy/cities/cities.repository.js';
import { CityBringUp } from './city-bringup.js';
import type { CityInitializer } from './city-initializer.js';
import { CityKeeper, KeeperTimings } from './city-keeper.js';
import { CityStateRepository } from './city-state.repository.js';
import { InitFailure } from './failure.js';

let database: TestDatabase;
let db: Db;
let transactions: Transactions;
let cities: CitiesRepository;
const state = new CityStateRepository();
const eventLog = new EventLog(new MovedStreams());
const running = new AbortController().signal;

/** A try of a city, which goes on until the test ends it, or its signal does. */
interface Try {
  readonly name: string;
  readonly signal: AbortSignal;
  readonly fail: () => void;
}
let tries: Try[];
/** A directory whose disk does not answer. */
let silent: string | undefined;
/** How often files were looked at. */
let looks: number;
const lifecycles: Lifecycle[] = [];
const stop = (): Promise<unknown> => Promise.all(lifecycles.splice(0).map((lifecycle) => lifecycle.stop()));

beforeAll(async () => {
  database = await cloneDatabase();
  const pool = createPool(database.url, { max: 8 });
  db = createDb(pool);
  transactions = new Transactions(db, new Failpoints());
  cities = new CitiesRepository(pool);
});
afterAll(async () => {
  await db.destroy();
  await database.drop();
});
afterEach(stop);
beforeEach(async () => {
  tries = [];
  silent = undefined;
  looks = 0;
  await sql`delete from cities`.execute(db);
  await failed('alpha');
});

/** A city that failed to come up, and is due. */
const failed = async (name: string): Promise<void> => {
  await transactions.run(async (tx) => cities.insert(tx, { name, dir: `/nowhere/${name}`, streamId: await eventLog.joinStream(tx, name) }));
  await sql`update cities set phase = 'init_failed' where name = ${name}`.execute(db);
};
const row = async (name = 'alpha'): Promise<CityRow> => (await cities.findByName(db, name))!;
const leaseIsOver = (): Promise<unknown> => sql`update cities set lease_until = clock_timestamp() - interval '1 s'`.execute(db);
const isHeld = async (): Promise<boolean> => {
  const { rows } = await sql<{ held: boolean }>`select lease_until > clock_timestamp() as held from cities`.execute(db);
  return rows[0]!.held;
};
const begun = (count: number): Promise<unknown> => eventually(() => tries.length === count);

const initializer = {
  initialize: async ({ name }, publish, signal) => {
    await publish('starting_bead_store');
    signal!.throwIfAborted();
    return new Promise<never>((_, reject) => {
      const fail = (): void => reject(new InitFailure('pack_cache_failed', 'no answer', 'transient'));
      tries.push({ name, signal: signal!, fail });
      signal!.addEventListener('abort', () => reject(signal!.reason as Error));
    });
  },
  hashOf: (dir) => {
    looks++;
    return Promise.resolve(dir === silent ? undefined : 'h1');
  },
} satisfies Pick<CityInitializer, 'initialize' | 'hashOf'>;

/** A worker's keeper: what it does in one look. */
function keeper(processId: string, timings: Partial<KeeperTimings> = {}): () => Promise<unknown> {
  let work: DueWork['work'] | undefined;
  const due = { repeat: (repeated: DueWork) => (work = repeated.work) } as unknown as DuePoller;
  const bringUp = new CityBringUp(initializer as unknown as CityInitializer, state, undefined as never);
  const log = new AppLogger(createLogger('silent'));
  const config = { processId } as AppConfig;
  const lifecycle = new Lifecycle(log);
  lifecycles.push(lifecycle);
  const times = new KeeperTimings(timings);
  new CityKeeper(config, state, bringUp, db, transactions, eventLog, log, due, times, lifecycle).onApplicationBootstrap();
  return () => work!(running);
}

it('tries other cities while one takes long, each once', async () => {
  const look = keeper('one', { renewMs: 10 });
  await look();
  await begun(1);
  await failed('beta');
  await look();
  await begun(2);
  await leaseIsOver();
  await look();
  expect(tries.map(({ name }) => name)).toEqual(['alpha', 'beta']);
});

// Guard: files of a failed city are not looked at on a disk that does not answer.
it('looks at the files of a failed city once their disk answers', async () => {
  const look = keeper('one');
  const hash = async (): Promise<string | null> => {
    const { rows } = await sql<{ config_hash: string | null }>`select config_hash from cities`.execute(db);
    return rows[0]!.config_hash;
  };
  await look();
  await begun(1);
  silent = '/nowhere/alpha';
  tries[0]!.fail();
  await eventually(async () => (await row()).phase === 'init_failed');
  expect(await row()).toMatchObject({ failures: 1, error: 'no answer', next_retry_at: expect.any(Date) });
  await look();
  expect(await hash()).toBeNull();
  silent = undefined;
  await look();
  expect(await hash()).toBe('h1');
  expect(tries).toHaveLength(1);
});

it.each([
  ['at the next look', 20, 2, undefined],
  ['later, where that takes long', 1_000_000_000, 1, undefined],
  ['at the next look, where their disk did not answer', 1_000_000_000, 2, '/nowhere/alpha'],
])('looks again at the files of a failed city %s', async (_when, rests, count, unanswered) => {
  silent = unanswered;
  await sql`update cities set next_retry_at = now() + interval '1 hour', config_hash = 'h1'`.execute(db);
  const look = keeper('one', { rests });
  await look();
  await look();
  expect([looks, tries]).toEqual([count, []]);
});

describe('a try that takes longer than its lease', () => {
  it('keeps the city from other workers, and says how it ended', async () => {
    const one = keeper('one', { renewMs: 10 });
    await one();
    await begun(1);
    await leaseIsOver();
    await eventually(isHeld);
    await keeper('two')();
    await one();
    expect(tries).toHaveLength(1);
    tries[0]!.fail();
    await eventually(async () => (await row()).phase === 'init_failed');
    expect(await row()).toMatchObject({ failures: 1, error: 'no answer', next_retry_at: expect.any(Date) });
  });

  it('is ended when another worker has the city', async () => {
    await keeper('one', { renewMs: 10 })();
    await begun(1);
    const held = (await state.take('alpha', 'two').execute(db)).rows[0]!;
    await eventually(() => tries[0]!.signal.aborted);
    await stop();
    expect(await row()).toMatchObject({ phase: 'loading_config', failures: 0 });
    expect((await state.publish(held, 'loading_config').execute(db)).rows).toHaveLength(1);
  });

  it('has an end, which counts as a failure', async () => {
    await keeper('one', { tryMs: 10 })();
    await eventually(async () => (await row()).phase === 'init_failed');
    expect(await row()).toMatchObject({ failures: 1, failure_code: 'internal_error' });
  });

  it('is ended with its process, and is nobody’s fault', async () => {
    await keeper('one')();
    await begun(1);
    await stop();
    expect(await row()).toMatchObject({ phase: 'starting_bead_store', failures: 0 });
  });
});
