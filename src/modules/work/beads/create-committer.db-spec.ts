import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { AuditedRequest, onBehalfOf } from '../../../platform/audit/audited-request.js';
import { createDb, createPool, type PgPool } from '../../../platform/database/database.js';
import { MovedStreams, type Moved } from '../../../platform/event-log/moved.js';
import { Failpoints } from '../../../platform/failpoints/failpoints.js';
import { Metrics } from '../../../platform/health/metrics.js';
import { cloneDatabase, LOCK_TIMEOUT_MS, type TestDatabase } from '../../../../test/support/database.js';
import { registerCity } from '../../../../test/support/registry.js';
import { eventually } from '../../../../test/support/sse.js';
import { CreateCommitter } from './create-committer.js';
import { CreateRepository, type CreateResult, type Creating } from './create.repository.js';

const CITIES = ['alpha', 'beta', 'gamma', 'delta'];

let database: TestDatabase;
let pool: PgPool;
let extra: PgPool[];

beforeEach(async () => {
  database = await cloneDatabase(LOCK_TIMEOUT_MS);
  pool = createPool(database.url);
  extra = [];
  const db = createDb(pool);
  for (const city of CITIES) {
    const { streamId } = await registerCity(db, city, `/${city}`);
    await pool.query("insert into rigs (stream_id, name, prefix, position) values ($1, '', 'b', 0), ($1, 'web', 'w', 1)", [streamId]);
  }
});
afterEach(async () => {
  for (const one of [...extra, pool]) await one.end();
  await database.drop();
});

interface Process {
  readonly failpoints: Failpoints;
  readonly moved: Moved[];
  /** What went to the database together. */
  readonly batches: { readonly items: readonly Creating[]; readonly wait: boolean }[];
  create(city: string, title: string, more?: { bead?: object; key?: string; hash?: string }): Promise<CreateResult>;
}

function aProcess(): Process {
  const own = createPool(database.url);
  extra.push(own);
  const repository = new CreateRepository(own);
  const write = repository.create.bind(repository);
  const batches: Process['batches'] = [];
  repository.create = (items, wait, records) => {
    batches.push({ items, wait });
    return write(items, wait, records);
  };
  const [failpoints, streams, moved] = [new Failpoints(), new MovedStreams(), [] as Moved[]];
  streams.listen((some) => moved.push(...some));
  const committer = new CreateCommitter(repository, streams, failpoints, new Metrics());
  return {
    ...{ failpoints, moved, batches },
    create: (city, title, { bead, ...keyed } = {}) =>
      committer.create(
        city,
        JSON.stringify({
          bead: { title, labels: [], metadata: {}, ...bead },
          event: { stream: city, type: 'bead.created', version: 1, actor: 'tester' },
          ...keyed,
        }),
      ),
  };
}

const idOf = ({ bead }: CreateResult): string => (JSON.parse(bead!) as { id: string }).id;
const citiesOf = (items: readonly Creating[]): Set<string> => new Set(items.map(({ city }) => city));
const waiting = async (): Promise<boolean> =>
  (await pool.query("select 1 from pg_locks where locktype = 'advisory' and not granted")).rowCount! > 0;

describe('creates that come together', () => {
  it('share few transactions, those of many cities, and each has its own id, event and position', async () => {
    const [a, b] = [aProcess(), aProcess()];
    const done = await Promise.all(Array.from({ length: 160 }, (_, n) => (n % 8 < 4 ? a : b).create(CITIES[n % 4]!, `t-${n}`)));
    expect(done.map(({ outcome }) => outcome)).toEqual(Array.from(done, () => 'created'));
    expect(a.batches.some(({ items }) => citiesOf(items).size > 1)).toBe(true);
    expect(a.batches.length + b.batches.length).toBeLessThan(40);
    for (const [nth, city] of CITIES.entries()) {
      const own = done.filter((_, n) => n % 4 === nth);
      const numbers = own.map((one) => Number(idOf(one).slice(2))).sort((x, y) => x - y);
      expect(numbers).toEqual(Array.from({ length: 40 }, (_, n) => n + 1));
      const { rows } = await pool.query<{ subject: string; seq: number; title: string }>(
        `select e.subject, e.seq::int as seq, e.payload #>> '{bead,title}' as title from events e
         where e.stream_id = (select stream_id from cities where name = $1) order by e.seq`,
        [city],
      );
      expect(rows.map(({ seq }) => seq)).toEqual(Array.from({ length: 40 }, (_, n) => n + 1));
      done.forEach((one, n) => n % 4 === nth && expect(rows[one.seq! - 1]).toMatchObject({ subject: idOf(one), title: `t-${n}` }));
      expect(Math.max(...[...a.moved, ...b.moved].filter(({ stream }) => stream === city).map(({ head }) => head))).toBe(40);
    }
  });

  it('are decided one by one, wherever they are', async () => {
    await pool.query("update cities set running = false where name = 'delta'");
    const { create, batches } = aProcess();
    const done = await Promise.all([
      create('alpha', 'good'),
      create('beta', 'x', { bead: { rig: 'nowhere' } }),
      create('gamma', 'x', { bead: { parent: 'b-1' } }),
      create('delta', 'x'),
      create('nowhere', 'x'),
      create('beta', 'also good', { bead: { rig: 'web' } }),
    ]);
    expect(done.map(({ outcome }) => outcome)).toEqual(['created', 'no_rig', 'no_parent', 'not_running', 'not_running', 'created']);
    expect([idOf(done[0]!), idOf(done[5]!)]).toEqual(['b-1', 'w-1']);
    expect(batches).toHaveLength(1);
    expect((await pool.query('select 1 from events')).rowCount).toBe(2);
  });

  it('have a key each in each city', async () => {
    const { create, batches } = aProcess();
    const keyed = { key: 'k', hash: '00ff' };
    const twice = await Promise.all([create('alpha', 'x', keyed), create('beta', 'x', keyed), create('alpha', 'x', keyed)]);
    expect(twice.map(({ outcome }) => outcome)).toEqual(['created', 'created', 'replayed']);
    expect(twice.map(({ seq }) => seq)).toEqual([1, 1, 1]);
    await Promise.all([create('alpha', 'more'), create('beta', 'more')]);
    const again = await Promise.all([create('beta', 'x', keyed), create('alpha', 'x', { ...keyed, hash: 'ff00' })]);
    expect(again).toMatchObject([{ outcome: 'replayed', seq: 2, bead: twice[1]!.bead }, { outcome: 'mismatch' }]);
    expect(batches.filter(({ items }) => citiesOf(items).size > 1)).toHaveLength(3);
  });

  it('leave a record each with what they have created, and none with what was refused', async () => {
    const { create } = aProcess();
    const asked = (city: string, nth: number, more: object = {}): Promise<boolean> => {
      const request = new AuditedRequest({
        ...{ request_id: `r-${nth}`, key_id: 'k', actor: 'tester', session_id: null, session_city: null, address: '::1', operation: 'op' },
        ...{ method: 'POST', path: '/p', city, ids: { n: `${nth}` }, status: 201, code: null, reason: null },
      });
      return onBehalfOf(request, () => create(city, 'x', { bead: more })).then(() => request.recorded);
    };
    expect(await Promise.all([asked('alpha', 1), asked('beta', 2), asked('alpha', 3, { rig: 'nowhere' }), asked('delta', 4)])).toEqual([
      ...[true, true, false, true],
    ]);
    expect(await asked('gamma', 5)).toBe(true);
    const { rows } = await pool.query('select request_id, actor, city, ids, status from audit_records order by request_id');
    expect(rows).toEqual(
      [
        ['alpha', 1],
        ['beta', 2],
        ['delta', 4],
        ['gamma', 5],
      ].map(([city, n]) => ({ request_id: `r-${n}`, actor: 'tester', city, ids: { n: `${n}` }, status: 201 })),
    );
  });
});

describe('a create', () => {
  // Guard: the lock of the city's work is tried, and that of its events waited for a moment only, where others would wait as well.
  it.each([
    ['work', 2, ['alpha', 'beta', 'gamma']],
    ['events', 1, ['alpha', 'beta', 'gamma']],
    ['work', 2, ['alpha']],
    ['events', 1, ['alpha']],
  ] as const)('waits for nobody who keeps the %s of another city (lock %s): %j', async (what, lock, cities) => {
    const holder = await pool.connect();
    try {
      await holder.query('select pg_advisory_lock($1, stream_id) from cities where name = $2', [lock, 'alpha']);
      const { create, batches } = aProcess();
      let told = false;
      const held = create('alpha', 'held').finally(() => (told = true));
      const others = await Promise.all(cities.slice(1).map((city) => create(city, 'free')));
      expect(others.map(({ outcome }) => outcome)).toEqual(others.map(() => 'created'));
      await eventually(waiting);
      // What comes for it now waits with it; for others nothing has changed.
      const later = create('alpha', 'later');
      expect(await create('delta', 'free')).toMatchObject({ outcome: 'created' });
      expect(told).toBe(false);
      await holder.query('select pg_advisory_unlock_all()');
      // Which of them is asked alone first is left open: a batch may have given up its wait for the stream meanwhile.
      expect([idOf(await held), idOf(await later)].toSorted()).toEqual(['b-1', 'b-2']);
      const waited = batches.filter(({ wait }) => wait).map(({ items }) => [...citiesOf(items)]);
      // The stream is waited for last, and a batch that did not get it comes again, each city's part alone.
      expect(waited.filter((of) => of.length > 1 || (what === 'work' && of[0] !== 'alpha'))).toEqual([]);
    } finally {
      holder.release();
    }
  });

  // Guard: whoever has a number of the city's waits for its event stream with it, so nobody has them the other way round.
  it.each([[['alpha']], [['alpha', 'beta', 'gamma']]] as const)('lets a session be made in its city: %j', async (cities) => {
    const maker = await pool.connect();
    try {
      await maker.query('begin');
      await maker.query("select next_bead_id(stream_id, '') from cities where name = 'alpha'");
      const { create } = aProcess();
      const created = Promise.all(cities.map((city) => create(city, 'x')));
      await eventually(async () => (await pool.query('select 1 from pg_locks where not granted')).rowCount! > 0);
      const { rows } = await maker.query("select pg_try_advisory_xact_lock(1, stream_id) as free from cities where name = 'alpha'");
      expect(rows).toEqual([{ free: true }]);
      await maker.query('commit');
      expect((await created).map(idOf)).toEqual(cities.map((city) => (city === 'alpha' ? 'b-2' : 'b-1')));
    } finally {
      maker.release(true);
    }
  });

  it('of a city with very many of them has no part in what others share', async () => {
    const { create, batches } = aProcess();
    const first = [create('beta', 'x'), create('gamma', 'x')];
    const many = Array.from({ length: 200 }, (_, n) => create('alpha', `t-${n}`));
    const few = await Promise.all([...first, create('delta', 'x')]);
    expect(few.map(({ outcome }) => outcome)).toEqual(['created', 'created', 'created']);
    expect(new Set((await Promise.all(many)).map(idOf)).size).toBe(200);
    for (const { items } of batches) if (citiesOf(items).size > 1) expect(items.length).toBeLessThanOrEqual(20);
    expect(batches.length).toBeLessThan(10);
    // It goes on so for a moment: half of the next ones would be in the way of the others.
    const before = batches.length;
    await Promise.all(Array.from({ length: 12 }, () => create('alpha', 'more')));
    expect(batches.slice(before).map(({ items, wait }) => [items.length, wait])).toEqual([[12, true]]);
  });

  it('is not made twice where a batch fails for one of it', async () => {
    const { create } = aProcess();
    const settled = await Promise.allSettled([
      create('alpha', 'good'),
      // No text of the database has a zero.
      create('beta', 'a\u0000b'),
      create('gamma', 'good'),
    ]);
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect((await pool.query('select 1 from beads')).rowCount).toBe(2);
  });
});
