import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { AuditedRequest, onBehalfOf } from '../../../platform/audit/audited-request.js';
import { createDb, createPool, type PgPool } from '../../../platform/database/database.js';
import { MovedStreams } from '../../../platform/event-log/moved.js';
import { Failpoints } from '../../../platform/failpoints/failpoints.js';
import { Metrics } from '../../../platform/health/metrics.js';
import { cloneDatabase, LOCK_TIMEOUT_MS, type TestDatabase } from '../../../../test/support/database.js';
import { registerCity } from '../../../../test/support/registry.js';
import { eventually } from '../../../../test/support/sse.js';
import { EmitCommitter } from './emit-committer.js';
import { EmitRepository, type EmitResult, type Emitting } from './emit.repository.js';

const CITIES = ['alpha', 'beta', 'gamma', 'delta'];

let database: TestDatabase;
let pool: PgPool;

beforeEach(async () => {
  database = await cloneDatabase(LOCK_TIMEOUT_MS);
  pool = createPool(database.url);
  for (const city of CITIES) await registerCity(createDb(pool), city, `/${city}`);
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

interface Process {
  /** What went to the database together. */
  readonly batches: { readonly items: readonly Emitting[]; readonly wait: boolean }[];
  emit(city: string, more?: object): Promise<EmitResult>;
}

function aProcess(): Process {
  const repository = new EmitRepository(pool);
  const write = repository.emit.bind(repository);
  const batches: Process['batches'] = [];
  repository.emit = (items, wait, records) => {
    batches.push({ items, wait });
    return write(items, wait, records);
  };
  const committer = new EmitCommitter(repository, new MovedStreams(), new Failpoints(), new Metrics());
  return { batches, emit: (city, more) => committer.emit(city, JSON.stringify({ stream: city, type: 'x', actor: 'tester', ...more })) };
}

const citiesOf = (items: readonly Emitting[]): Set<string> => new Set(items.map(({ city }) => city));
const waiting = async (): Promise<boolean> =>
  (await pool.query("select 1 from pg_locks where locktype = 'advisory' and not granted")).rowCount! > 0;

describe('events of many cities', () => {
  it('share few transactions, and each city has its own dense positions', async () => {
    const [a, b] = [aProcess(), aProcess()];
    const done = await Promise.all(
      Array.from({ length: 160 }, (_, n) =>
        (n % 8 < 4 ? a : b).emit(CITIES[n % 4]!, { payload: { n }, ...(n % 3 ? { key: `k-${n}`, hash: '00ff' } : {}) }),
      ),
    );
    expect(a.batches.some(({ items }) => citiesOf(items).size > 1)).toBe(true);
    expect(a.batches.length + b.batches.length).toBeLessThan(40);
    for (const [nth, city] of CITIES.entries()) {
      const { rows } = await pool.query<{ seq: number; n: number }>(
        "select seq::int as seq, (payload ->> 'n')::int as n from events where stream_id = (select stream_id from cities where name = $1) order by seq",
        [city],
      );
      expect(rows.map(({ seq }) => seq)).toEqual(Array.from({ length: 40 }, (_, n) => n + 1));
      done.forEach(({ outcome, seq }, n) => n % 4 === nth && expect([outcome, rows[seq! - 1]!.n]).toEqual(['recorded', n]));
    }
  });

  it('are decided one by one, with a key each in each city, and leave a record where they are recorded', async () => {
    await pool.query("update cities set running = false where name = 'delta'");
    const { emit, batches } = aProcess();
    const asked = (nth: number, city: string, more?: object): Promise<[string, number | null, boolean]> => {
      const request = new AuditedRequest({
        ...{ request_id: `r-${nth}`, key_id: 'k', actor: 'tester', session_id: null, session_city: null, address: '::1', operation: 'op' },
        ...{ method: 'POST', path: '/p', city, ids: {}, status: 201, code: null, reason: null },
      });
      return onBehalfOf(request, () => emit(city, more)).then(({ outcome, seq }) => [outcome, seq, request.recorded]);
    };
    const keyed = { key: 'k', hash: '00ff' };
    expect(
      await Promise.all([
        asked(1, 'alpha', keyed),
        asked(2, 'beta', keyed),
        asked(3, 'alpha', keyed),
        asked(4, 'alpha', { ...keyed, hash: 'ff00' }),
        asked(5, 'delta'),
        asked(6, 'nowhere'),
        asked(7, 'gamma'),
        asked(8, 'beta'),
      ]),
    ).toEqual([
      ...[
        ['recorded', 1, true],
        ['recorded', 1, true],
        ['replayed', 1, false],
        ['mismatch', 1, false],
      ],
      ...[
        ['not_running', null, false],
        ['not_running', null, false],
        ['recorded', 1, true],
        ['recorded', 2, true],
      ],
    ]);
    expect(batches).toHaveLength(1);
    expect(await Promise.all([asked(9, 'beta', keyed), asked(10, 'alpha')])).toEqual([
      ['replayed', 1, false],
      ['recorded', 2, true],
    ]);
    expect(batches).toHaveLength(2);
    expect(await asked(11, 'gamma', keyed)).toEqual(['recorded', 2, true]);
    const { rows } = await pool.query<{ request_id: string }>('select request_id from audit_records order by id');
    expect(rows.map((row) => Number(row.request_id.slice(2))).sort((x, y) => x - y)).toEqual([1, 2, 7, 8, 10, 11]);
  });

  // Guard: the locks of streams are tried, and not waited for, where others would wait as well.
  it.each([[['alpha', 'beta', 'gamma']], [['alpha']]])('wait for nobody who writes in one of them: %j', async (cities) => {
    const holder = await pool.connect();
    try {
      await holder.query("select pg_advisory_lock(1, stream_id) from cities where name = 'alpha'");
      const { emit, batches } = aProcess();
      let told = false;
      const held = emit('alpha').finally(() => (told = true));
      const others = await Promise.all(cities.slice(1).map((city) => emit(city)));
      expect(others.map(({ outcome }) => outcome)).toEqual(others.map(() => 'recorded'));
      await eventually(waiting);
      expect(await emit('delta')).toMatchObject({ outcome: 'recorded' });
      expect(told).toBe(false);
      await holder.query('select pg_advisory_unlock_all()');
      expect(await held).toEqual({ outcome: 'recorded', seq: 1 });
      for (const { items, wait } of batches) if (wait) expect(citiesOf(items)).toEqual(new Set(['alpha']));
    } finally {
      holder.release();
    }
  });
});
