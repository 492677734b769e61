import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { cloneDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { plansOf, type PlanNode } from '../../../../test/support/plans.js';
import { registerCity } from '../../../../test/support/registry.js';
import { ANYBODY } from '../../../contract/principal.js';
import { createDb, createPool, type Db, type PgPool } from '../../../platform/database/database.js';
import { wholePage } from '../../../platform/database/page-bytes.js';
import { Transactions } from '../../../platform/database/transactions.js';
import { EventPartitions } from '../../../platform/event-log/partitions.js';
import { Failpoints } from '../../../platform/failpoints/failpoints.js';
import { StreamLogRepository } from '../../../platform/streams/stream-log.repository.js';
import { CityEventsRepository } from './city-events.repository.js';
import { toFilter } from './event-filter.js';
import { EventHistogramRepository } from './event-histogram.repository.js';
import { EventHistogramService } from './event-histogram.service.js';
import { CityHistogramQuery } from './events.schemas.js';
import { FeedEventsRepository } from './feed-events.repository.js';
import { ListLimits } from './list-limits.js';
import { SupervisorEventsRepository } from './supervisor-events.repository.js';

const EVENTS = 12_000;
const HOUR = 3_600_000;
const scope = { cities: ['large'], since: undefined, until: undefined, filter: toFilter({}) };

let database: TestDatabase;
let pool: PgPool;
let db: Db;
let large: number;

/** A log in eight parts, of one large city with events of the last twenty days, an eighth of them in each, and of very many that have said next to nothing. */
beforeAll(async () => {
  database = await cloneDatabase();
  pool = createPool(database.url, { max: 2 });
  db = createDb(pool);
  large = (await registerCity(db, 'large', '/large')).streamId;
  const partitions = new EventPartitions();
  await new Transactions(db, new Failpoints()).run(async (tx) => {
    await partitions.partition(tx);
    const began = Math.floor((Date.now() - 20 * 24 * HOUR) / HOUR) * HOUR;
    for (let n = 0; n < 8; n++)
      await partitions.add(tx, { from: new Date(began + n * 60 * HOUR), to: new Date(began + (n + 1) * 60 * HOUR) });
  });
  await sql`insert into event_streams (name) select 'small-' || n from generate_series(1, 4000) n`.execute(db);
  await sql`
    insert into events (stream_id, seq, ts, type, actor, payload, size)
    select s.id, n, now() - interval '479 hours' * (1 - n::float8 / c.count), case when n % 4 = 0 then 'x.quarter' else 'x.often' end, 'a', '{}', 100
    from event_streams s cross join lateral (select case when s.name = 'large' then ${EVENTS}::int else 4 end as count) c
    cross join lateral generate_series(1, c.count) n where s.name = 'large' or s.name like 'small-%'`.execute(db);
  await sql`update event_streams set head = case when name = 'large' then ${EVENTS}::int else 4 end where name = 'large' or name like 'small-%'`.execute(
    db,
  );
  await sql`analyze events`.execute(db);
  await sql`analyze event_streams`.execute(db);
});
afterAll(async () => {
  await db?.destroy();
  await database?.drop();
});

/** Events that were read, of whatever part. */
function eventsRead(nodes: readonly PlanNode[]): number {
  const scans = nodes.filter((node) => node['Relation Name']?.startsWith('events') === true);
  return scans.reduce((sum, node) => sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'], 0);
}

it('reads of a large city as much as a page of some cities has, and no more', async () => {
  const nodes = await plansOf(pool, async (asking) => {
    const repository = new SupervisorEventsRepository(asking);
    const streams = (await repository.streams(scope, undefined, 64))!;
    const { items, more } = await repository.pageOfStreams(streams, scope, wholePage(100));
    expect([items.map(({ seq }) => seq), more]).toEqual([Array.from({ length: 100 }, (_, n) => EVENTS - n), true]);
  });
  expect(eventsRead(nodes)).toBeLessThan(300);
});

it('reads of a large city as much as a stretch has', async () => {
  const nodes = await plansOf(pool, async (asking) => {
    const repository = new SupervisorEventsRepository(asking);
    const left = [{ id: large, after: 0, upto: EVENTS }];
    const { items } = await repository.stretch(left, scope, wholePage(100), EVENTS, 64);
    expect(items.map(({ seq }) => seq)).toEqual(Array.from({ length: 100 }, (_, n) => EVENTS - n));
  });
  expect(eventsRead(nodes)).toBeLessThan(1_000);
});

it('reads of a large city as much as a list upwards from an old position has', async () => {
  const nodes = await plansOf(pool, async (asking) => {
    const lag = { id: large, after: 10, upto: EVENTS, ends: [] };
    const { keys } = await new FeedEventsRepository(asking).next([lag], ['large'], toFilter({}), wholePage(100), EVENTS, 64);
    expect(keys.map(({ seq }) => seq)).toEqual(Array.from({ length: 100 }, (_, n) => 11 + n));
  });
  expect(eventsRead(nodes)).toBeLessThan(300);
});

it('reads of a large city as much as a stream sends that is far behind', async () => {
  const ranges = [{ streamId: large, after: 10, upto: EVENTS }];
  for (const types of [undefined, ['x.quarter']]) {
    const asked: { readonly text: string; readonly values: unknown[] }[] = [];
    const watched = { query: (query: (typeof asked)[number]) => (asked.push(query), pool.query(query)) } as unknown as PgPool;
    const { rows, more } = await new StreamLogRepository(db, watched).read(ranges, 100, 1 << 20, types);
    expect([rows.length, rows[0]!.seq, more]).toEqual([100, types === undefined ? 11 : 12, false]);
    const { rows: plan } = await pool.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>({
      text: `explain (analyze, format json) ${asked[0]!.text}`,
      values: asked[0]!.values,
    });
    const within = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(within)];
    expect(eventsRead(within(plan[0]!['QUERY PLAN'][0].Plan))).toBeLessThan(1_000);
  }
});

it('plans once what a connection reads for streams', async () => {
  const one = createPool(database.url, { max: 1 });
  try {
    const repository = new StreamLogRepository(db, one);
    for (let after = 0; after < 1_000; after += 100) await repository.read([{ streamId: large, after, upto: EVENTS }], 100, 1 << 20);
    const { rows } = await one.query(`select custom_plans::int as custom from pg_prepared_statements where name = 'stream-tail'`);
    // The first five, by which PostgreSQL judges.
    expect(rows).toEqual([{ custom: 5 }]);
  } finally {
    await one.end();
  }
});

it('reads of a large city as many events as a histogram has looks', async () => {
  class Few extends ListLimits {
    override readonly looks = 400;
  }
  const nodes = await plansOf(pool, async (asking) => {
    const service = new EventHistogramService(new EventHistogramRepository(asking), new CityEventsRepository(asking), new Few());
    const query = CityHistogramQuery.parse({ since: '480h', bucket: '24h', by: 'type' });
    const { value } = await service.city('large', query, ANYBODY);
    expect(value.total_is_estimate).toBe(true);
    expect(Math.abs(value.total - EVENTS)).toBeLessThan(EVENTS / 20);
  });
  expect(eventsRead(nodes)).toBeLessThan(2_000);
});

it('reads of a large city no more than a stretch has that ends where others have begun', async () => {
  await sql`insert into events (stream_id, seq, ts, type, actor, payload, size) values (${large}, ${EVENTS + 1}, now() + interval '1 second', 'x.quarter', 'a', '{}', 100)`.execute(
    db,
  );
  const { rows: small } = await sql<{ id: number }>`select id from event_streams where name like 'small-%' order by id limit 2`.execute(db);
  const nodes = await plansOf(pool, async (asking) => {
    const left = [{ id: large, after: 0, upto: EVENTS + 1 }, ...small.map(({ id }) => ({ id, after: 0, upto: 4 }))];
    const { items } = await new SupervisorEventsRepository(asking).stretch(
      left,
      { ...scope, filter: toFilter({ type: 'x.quarter' }) },
      wholePage(100),
      2 ** 40,
      2,
    );
    expect(items.map(({ seq }) => seq)).toEqual([EVENTS + 1]);
  });
  expect(eventsRead(nodes)).toBeLessThan(100);
});
