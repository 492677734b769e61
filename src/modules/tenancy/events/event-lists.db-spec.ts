import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { sql } from 'kysely';
import { ANYBODY, type Principal } from '../../../contract/principal.js';
import { createDb, createPool, type Db, type PgPool } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';
import { wholePage } from '../../../platform/database/page-bytes.js';
import { EventLog } from '../../../platform/event-log/event-log.js';
import { MovedStreams } from '../../../platform/event-log/moved.js';
import { AppLogger, createLogger } from '../../../platform/logging/logger.js';
import { Checkpoints } from '../../../platform/streams/checkpoints.js';
import type { HeadWaiter } from '../../../platform/streams/head-waiter.js';
import type { StreamHub } from '../../../platform/streams/hub.js';
import { StreamLogRepository } from '../../../platform/streams/stream-log.repository.js';
import { cloneDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { DEEP } from '../../../../test/support/depth.js';
import { plansOf, rowsRead } from '../../../../test/support/plans.js';
import { registerCity } from '../../../../test/support/registry.js';
import { CityEventsRepository } from './city-events.repository.js';
import { CityEventsService } from './city-events.service.js';
import { toFilter } from './event-filter.js';
import { CityEventsQuery, SupervisorEventsQuery } from './events.schemas.js';
import { FeedEventsRepository } from './feed-events.repository.js';
import { FeedEventsService } from './feed-events.service.js';
import { ListLimits } from './list-limits.js';
import { SupervisorEventsRepository } from './supervisor-events.repository.js';
import { SupervisorEventsService } from './supervisor-events.service.js';

/** Small enough that every way of reading the log is taken by a few hundred events. */
class SmallLimits extends ListLimits {
  override readonly stretch: number = 7;
  override readonly counted: number = 7;
  override readonly pageBytes: number = 2_000;
  override readonly fewStreams: number = 3;
  override readonly missed: number = 2;
}

interface Item {
  readonly seq: number;
  readonly ts: string;
  readonly type: string;
  readonly actor: string;
  readonly subject?: string;
  readonly city?: string;
  readonly payload: Record<string, unknown>;
}
interface Stored extends Omit<Item, 'ts' | 'city'> {
  readonly us: number;
  readonly stream: string;
}
interface Body {
  readonly items: Item[];
  readonly next_cursor?: string;
  readonly total: number;
  readonly total_is_estimate?: boolean;
  readonly event_cursor?: string;
}

const CITIES = ['alpha', 'beta', 'gamma', 'delta'];
const TYPES = ['x.one', 'x.two', 'x.rare'];
const ACTORS = ['ann', 'bob'];
const PAYLOADS = [{}, { n: 1 }, { n: 1.5, a: { b: 'deep' } }, { 'a.b': 'flat', a: { b: 'deep' } }, { n: null, l: [1, { z: 1, a: 2 }] }];
const MATCHES = ['n=1', 'n=1.5', 'n=null', 'a.b=flat', 'a.b=deep', 'l=[1,{"a":2,"z":1}]', 'nope='];
const RUNS = DEEP ? 60 : 16;
const gone = new AbortController().signal;

let database: TestDatabase;
let pool: PgPool;
let db: Db;

function services(limits: ListLimits): { city: CityEventsService; supervisor: SupervisorEventsService } {
  const repository = new StreamLogRepository(db, pool);
  const log = new AppLogger(createLogger('silent', {}));
  const hub = { repository, checkpoints: new Checkpoints(repository, log, () => new Map()) } as unknown as StreamHub;
  const feed = new FeedEventsService(new FeedEventsRepository(db), hub, limits);
  return {
    city: new CityEventsService(new CityEventsRepository(db), { readAgain: () => Promise.resolve(false) } as unknown as HeadWaiter, limits),
    supervisor: new SupervisorEventsService(new SupervisorEventsRepository(db), feed, new EventLog(new MovedStreams()), db, limits),
  };
}

/** What tells an event from every other, also when two streams are tagged with one city. */
const keyOf = (e: Stored): string => `${tagOf(e)}:${e.seq}:${e.us}`;
const keyOfItem = (i: Item): string => `${i.city}:${i.seq}:${Date.parse(`${i.ts.slice(0, 23)}Z`) * 1000 + Number(i.ts.slice(23, 26))}`;
const tagOf = (e: Stored): string => (e.stream === '__supervisor__' && e.type === 'request.failed' ? (e.subject ?? e.stream) : e.stream);

async function append(events: readonly Record<string, unknown>[]): Promise<void> {
  await sql`select * from append_events(${JSON.stringify(events)}::jsonb)`.execute(db);
}

/** The model: every event, straight from the tables. */
async function everything(): Promise<Stored[]> {
  const { rows } = await sql<Stored>`
    select e.seq, e.type, e.actor, e.subject, e.payload, s.name as stream, (extract(epoch from e.ts) * 1000000)::bigint as us
    from events e join event_streams s on s.id = e.stream_id order by e.ts, e.stream_id, e.seq`.execute(db);
  return rows;
}

/** An independent reading of the rules of payload matching. */
function lookUp(payload: unknown, key: string): unknown {
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) return undefined;
  const object = payload as Record<string, unknown>;
  if (key in object) return object[key];
  const dot = key.indexOf('.');
  return dot === -1 ? undefined : lookUp(object[key.slice(0, dot)], key.slice(dot + 1));
}
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([k, v]) => [k, sorted(v)]),
  );
}
function matchesPair(payload: unknown, pairs: readonly string[]): boolean {
  const wanted = new Map<string, string[]>();
  for (const pair of pairs) {
    const [key, ...rest] = pair.split('=');
    wanted.set(key!, [...(wanted.get(key!) ?? []), rest.join('=')]);
  }
  return [...wanted].every(([key, values]) => {
    const found = lookUp(payload, key);
    return found !== undefined && values.includes(typeof found === 'string' ? found : JSON.stringify(sorted(found)));
  });
}

interface Filter {
  type?: string | undefined;
  actor?: string | undefined;
  subject?: string | undefined;
  payload_match?: string[] | undefined;
}
const wanted = (e: Stored, f: Filter): boolean =>
  (f.type === undefined || e.type === f.type) &&
  (f.actor === undefined || e.actor === f.actor) &&
  (f.subject === undefined || e.subject === f.subject) &&
  matchesPair(e.payload, f.payload_match ?? []);
const present = (f: object): Record<string, unknown> => Object.fromEntries(Object.entries(f).filter(([, v]) => v !== undefined));

const filters = fc.record({
  type: fc.option(fc.constantFrom(...TYPES), { nil: undefined }),
  actor: fc.option(fc.constantFrom(...ACTORS), { nil: undefined }),
  subject: fc.option(fc.constantFrom('alpha', 's1'), { nil: undefined, freq: 4 }),
  payload_match: fc.option(fc.array(fc.constantFrom(...MATCHES), { minLength: 1, maxLength: 3 }), { nil: undefined }),
});

beforeAll(async () => {
  database = await cloneDatabase();
  pool = createPool(database.url);
  db = createDb(pool);
  for (const name of CITIES) await registerCity(db, name, `/${name}`);
  const random = (n: number): number => Math.floor(Math.random() * n);
  for (let i = 0; i < 120; i++) {
    if (i === 60) await sql`select begin_log_epoch()`.execute(db); // from here on the numbers are others
    await append(
      Array.from({ length: 1 + random(5) }, () => ({
        stream: random(6) === 0 ? '__supervisor__' : CITIES[random(3)],
        type: random(20) === 0 ? 'x.rare' : random(9) === 0 ? 'request.failed' : TYPES[random(2)],
        actor: ACTORS[random(2)],
        subject: [undefined, 'alpha', 's1'][random(3)],
        payload: PAYLOADS[random(PAYLOADS.length)],
      })),
    );
  }
  await sql`update events set ts = date_trunc('milliseconds', ts)`.execute(db); // many events of one instant
});

afterAll(async () => {
  await db.destroy();
  await database.drop();
});

describe.each([
  ['many streams and short stretches', new SmallLimits()],
  ['usual limits', new ListLimits()],
])('event lists against a model: %s', (_name, limits) => {
  const walkCity = async (city: string, query: object): Promise<Body[]> => {
    const pages: Body[] = [];
    let cursor: string | undefined;
    do {
      const text = await services(limits).city.list(
        city,
        CityEventsQuery.parse({ ...present(query), ...present({ cursor }) }),
        ANYBODY,
        gone,
      );
      pages.push(JSON.parse(text.json) as Body);
      cursor = pages.at(-1)!.next_cursor;
    } while (cursor !== undefined);
    return pages;
  };
  const walkAll = async (query: object, caller: Principal = ANYBODY): Promise<Body[]> => {
    const pages: Body[] = [];
    let cursor: string | undefined;
    do {
      const text = await services(limits).supervisor.list(
        SupervisorEventsQuery.parse({ ...present(query), ...present({ cursor }) }),
        caller,
      );
      pages.push(JSON.parse(text) as Body);
      cursor = pages.at(-1)!.next_cursor;
    } while (cursor !== undefined);
    return pages;
  };

  it('walks a city downwards and upwards', async () => {
    const all = await everything();
    await fc.assert(
      fc.asyncProperty(
        filters,
        fc.constantFrom('alpha', 'beta', 'delta'),
        fc.integer({ min: 1, max: 60 }),
        fc.nat(70),
        async (filter, city, limit, nth) => {
          const stream = all.filter((e) => e.stream === city);
          const mine = stream.filter((e) => wanted(e, filter)).map((e) => e.seq);
          const down = await walkCity(city, { ...filter, limit: String(limit) });
          expect(down.flatMap((p) => p.items.map((i) => i.seq))).toEqual([...mine].reverse());
          for (const page of down) {
            expect(page.items.length).toBeLessThanOrEqual(limit);
            if (page.total_is_estimate === true) expect(page.total).toBeLessThanOrEqual(mine.length);
            else expect(page.total).toBe(mine.length);
          }
          const after = nth === 0 ? 0 : stream[nth - 1]?.seq;
          if (after === undefined) return;
          const up = await walkCity(city, { ...filter, limit: String(limit), after_seq: String(after) });
          expect(up.flatMap((p) => p.items.map((i) => i.seq))).toEqual(mine.filter((s) => s > after));
        },
      ),
      { numRuns: RUNS },
    );
  });

  it('ends a page by its bytes, with at least one event', async () => {
    const pages = [...(await walkCity('alpha', { limit: '50' })), ...(await walkCity('alpha', { limit: '50', after_seq: '0' }))];
    const all = ['__supervisor__', ...CITIES].map((name) => `${name}:0`).join(',');
    pages.push(...(await walkAll({ limit: '50' })), ...(await walkAll({ limit: '50', after_cursor: all })));
    for (const { items } of pages) {
      const payloads = items.reduce((sum, { payload }) => sum + JSON.stringify(payload).length, 0);
      expect(items.length === 1 || payloads < limits.pageBytes).toBe(true);
      expect(items.length).toBeGreaterThan(0);
    }
    expect(pages.some(({ items, next_cursor: next }) => next !== undefined && items.length < 50)).toBe(limits instanceof SmallLimits);
  });

  it('walks all streams downwards in one total order', async () => {
    const all = await everything();
    const some = fc.option(fc.subarray(CITIES), { nil: undefined });
    await fc.assert(
      fc.asyncProperty(filters, some, some, fc.integer({ min: 1, max: 60 }), async (filter, allowed, asked, limit) => {
        const visible = (tag: string): boolean =>
          (allowed === undefined || allowed.includes(tag)) && (asked === undefined || asked.includes(tag));
        const mine = all.filter((e) => visible(tagOf(e)) && wanted(e, filter)).map(keyOf);
        const caller = { ...ANYBODY, cities: allowed };
        const query = {
          ...filter,
          limit: String(limit),
          ...(asked === undefined ? {} : { cities: asked.length === 0 ? '-' : asked.join(',') }),
        };
        const down = await walkAll(query, caller);
        const got = down.flatMap((p) => p.items.map(keyOfItem));
        expect(got).toEqual([...mine].reverse());
        for (const page of down) {
          if (page.total_is_estimate === true) expect(page.total).toBeLessThanOrEqual(mine.length);
          else expect(page.total).toBe(mine.length);
          if (allowed !== undefined) expect(page.event_cursor!.split(',').length).toBe(allowed.length + 1);
        }
      }),
      { numRuns: RUNS },
    );
  });

  it('walks all streams upwards from any position', async () => {
    const all = await everything();
    const places = new Map(
      ['__supervisor__', ...CITIES].map((name) => [name, [0, ...all.filter((e) => e.stream === name).map((e) => e.seq)]]),
    );
    const position = fc.record(
      Object.fromEntries([...places].map(([name, seqs]) => [name, fc.option(fc.constantFrom(...seqs), { nil: undefined, freq: 4 })])),
    );
    await fc.assert(
      fc.asyncProperty(filters, position, fc.integer({ min: 4, max: 60 }), async (filter, at, limit) => {
        const named = Object.entries(at).filter(([, seq]) => seq !== undefined);
        fc.pre(named.length > 0);
        const from = (stream: string): number => at[stream] ?? (at['__supervisor__'] === 0 ? 0 : places.get(stream)!.at(-1)!);
        const mine = all.filter((e) => e.seq > from(e.stream) && wanted(e, filter)).map(keyOf);
        const up = await walkAll({ ...filter, limit: String(limit), after_cursor: named.map(([name, seq]) => `${name}:${seq}`).join(',') });
        expect(up.flatMap((p) => p.items.map(keyOfItem))).toEqual(mine);
      }),
      { numRuns: RUNS / 2 },
    );
  });

  it('bounds a list by time', async () => {
    const all = await everything();
    await sql`update events set ts = ts - interval '1 hour' where seq <= 10`.execute(db);
    try {
      for (const city of CITIES) {
        const seqs = all.filter((e) => e.stream === city).map((e) => e.seq);
        const young = (await walkCity(city, { since: '30m', limit: '7' })).flatMap((p) => p.items.map((i) => i.seq));
        expect(young).toEqual(seqs.filter((s) => s > 10).reverse());
        const old = await walkCity(city, { until: '30m', limit: '7' });
        expect(old.flatMap((p) => p.items.map((i) => i.seq))).toEqual(seqs.filter((s) => s <= 10).reverse());
        expect(old[0]!.total).toBe(seqs.filter((s) => s <= 10).length);
      }
      const young = (await walkAll({ since: '30m' })).flatMap((p) => p.items);
      expect(young.length).toBe(all.filter((e) => e.seq > 10).length);
      const old = (await walkAll({ until: '30m', limit: '9' })).flatMap((p) => p.items);
      expect(old.length).toBe(all.filter((e) => e.seq <= 10).length);
      const zero = ['__supervisor__', ...CITIES].map((name) => `${name}:0`).join(',');
      expect((await walkAll({ since: '30m', after_cursor: zero, limit: '9' })).flatMap((p) => p.items).length).toBe(young.length);
      expect((await walkAll({ until: '30m', after_cursor: zero, limit: '9' })).flatMap((p) => p.items).length).toBe(old.length);
    } finally {
      await sql`update events set ts = ts + interval '1 hour' where seq <= 10`.execute(db);
    }
  });

  it.each([
    ['after_seq', 'x', 400],
    ['after_seq', '-1', 400],
    ['after_seq', '999999', 410],
    ['cursor', '0', 400],
    ['cursor', 'v1:e30', 400],
    ['cursor', `v1:${Buffer.from('{"k":"sq","s":0}').toString('base64url')}`, 400],
    ['cursor', `v1:${Buffer.from('{"k":"cb","s":3}').toString('base64url')}`, 400],
    ['since', 'yesterday', 400],
  ])('refuses %s=%s of a city', async (name, value, status) => {
    await expect(walkCity('alpha', { [name]: value })).rejects.toMatchObject({ kind: { status } });
  });

  it.each([
    ['after_cursor', 'alpha', 400],
    ['after_cursor', 'alpha:1,alpha:2', 400],
    ['after_cursor', 'alpha:99999', 410],
    ['after_cursor', '~zz.!', 400],
    ['cursor', `v1:${Buffer.from('{"k":"sq","s":3}').toString('base64url')}`, 400],
    ['until', '5', 400],
  ])('refuses %s=%s of the supervisor', async (name, value, status) => {
    await expect(walkAll({ [name]: value })).rejects.toMatchObject({ kind: { status } });
  });

  // Guard: a page upwards would leave out what is dropped between the first look and the read, and nobody would know.
  it('answers 410 when what it begins with is dropped while it is read', async () => {
    class Meanwhile extends CityEventsRepository {
      override async page(...asked: Parameters<CityEventsRepository['page']>): ReturnType<CityEventsRepository['page']> {
        await sql`update event_streams set floor = 5 where name = 'alpha'`.execute(db);
        return super.page(...asked);
      }
    }
    const heads = { readAgain: () => Promise.resolve(false) } as unknown as HeadWaiter;
    const service = new CityEventsService(new Meanwhile(db), heads, new SmallLimits());
    const asked = (query: object): Promise<unknown> => service.list('alpha', CityEventsQuery.parse(query), ANYBODY, gone);
    try {
      await expect(asked({ after_seq: '4' })).rejects.toThrow('the oldest position is 5');
      await asked({ after_seq: '5' });
      // Downwards a page ends earlier, and leaves nothing out.
      await sql`update event_streams set floor = 0 where name = 'alpha'`.execute(db);
      await asked({});
    } finally {
      await sql`update event_streams set floor = 0 where name = 'alpha'`.execute(db);
    }
  });

  it('answers 410 with the oldest position below the floor', async () => {
    await sql`update event_streams set floor = 5 where name = 'alpha'`.execute(db);
    try {
      await expect(walkCity('alpha', { after_seq: '4' })).rejects.toThrow(
        'cursor_expired: the log no longer holds this position; the oldest position is 5',
      );
      await expect(walkAll({ after_cursor: 'alpha:4' })).rejects.toThrow('the oldest position is alpha:5');
      expect((await walkCity('alpha', {})).flatMap((p) => p.items).at(-1)!.seq).toBe(6);
    } finally {
      await sql`update event_streams set floor = 0 where name = 'alpha'`.execute(db);
    }
  });

  it('hides cities that the caller may not see', async () => {
    const caller = { ...ANYBODY, cities: ['beta'] };
    await expect(services(limits).city.list('alpha', CityEventsQuery.parse({}), caller, gone)).rejects.toThrow(
      'not_found: city not found or not running: alpha',
    );
    const page = JSON.parse(
      await services(limits).supervisor.list(SupervisorEventsQuery.parse({ after_cursor: 'alpha:99999' }), caller),
    ) as Body;
    expect(page.items).toEqual([]);
  });
});

// Guards: no position names the city; a token that names it no more would have the next page tell it anew, or lose its last words.
it('tells once of a city that joined and left after the position, and what it says while its list is walked', async () => {
  const log = new EventLog(new MovedStreams());
  const change = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => db.transaction().execute((tx) => work(tx as unknown as Tx));
  const event = (stream: string, type: string) => ({ stream, type, actor: 'ann', payload: {} });
  const { supervisor } = services(new SmallLimits());
  const list = async (query: object): Promise<Body> =>
    JSON.parse(await supervisor.list(SupervisorEventsQuery.parse({ limit: '1', ...query }), ANYBODY)) as Body;
  const from = (await list({})).event_cursor!;
  await change((tx) => log.joinStream(tx, 'omega'));
  await append([event('omega', 'x.one'), event('omega', 'x.two')]);
  await append([event('beta', 'x.beta')]);
  await append([event('__supervisor__', 'x.joined'), event('__supervisor__', 'x.more')]);
  await change((tx) => log.leaveStream(tx, 'omega'));
  const walk = async (after: string, meanwhile: (told: number) => Promise<void> = async () => undefined): Promise<string[]> => {
    const told: string[] = [];
    for (let page = await list({ after_cursor: after }); ; page = await list({ cursor: page.next_cursor! })) {
      told.push(...page.items.map(({ type }) => type));
      if (page.next_cursor === undefined) return told;
      await meanwhile(told.length);
    }
  };
  const left = (await list({})).event_cursor!;
  const ago = sql`update event_streams set last_ts = now() - interval '11 minutes' where name = 'omega'`;
  await ago.execute(db);
  expect(await walk(from)).toEqual(['x.one', 'x.two', 'x.beta', 'x.joined', 'x.more']);
  await sql`update event_streams set last_ts = now() where name = 'omega'`.execute(db);
  await append([event('__supervisor__', 'x.left'), event('__supervisor__', 'x.after')]);
  const last = await walk(left, async (told) => {
    if (told === 1) await append([event('omega', 'x.last')]);
  });
  expect(last).toEqual(['x.left', 'x.after', 'x.last']);
  const none = await supervisor.list(SupervisorEventsQuery.parse({ after_cursor: from }), { ...ANYBODY, cities: ['beta'] });
  expect((JSON.parse(none) as Body).items.map(({ city }) => city)).not.toContain('omega');
});

// Guards: totals, and how exact they are, come from the caller's own streams.
it('tells one who sees some cities nothing of how much goes on in the others, and of which kinds', async () => {
  const { supervisor } = services(new SmallLimits());
  const caller = { ...ANYBODY, cities: ['delta'] };
  const said = (stream: string, type: string, count: number): Promise<void> =>
    append(Array.from({ length: count }, () => ({ stream, type, actor: 'cat', payload: {} })));
  const bodies = (): Promise<string[]> =>
    Promise.all(
      [
        { actor: 'cat' },
        { actor: 'nobody' },
        { actor: 'cat', since: '1h', until: '1ms' },
        { type: 'x.secret' },
        { payload_match: ['n=1'] },
      ].map((query) => supervisor.list(SupervisorEventsQuery.parse({ limit: '50', ...query }), caller)),
    );
  await said('delta', 'x.one', 3);
  await said('alpha', 'x.one', 20);
  // Of a stream of the supervisor's that is longer than what is counted nobody knows more.
  await sql`update event_streams set floor = head where name = '__supervisor__'`.execute(db);
  const before = await bodies();
  expect((JSON.parse(before[0]!) as Body).items).toHaveLength(3);
  expect(before.filter((body) => body.includes('total_is_estimate'))).toEqual([]);
  await said('alpha', 'x.secret', 50);
  expect(await bodies()).toEqual(before);
});

// Guards: with a thousand cities each page would read as many pages.
it.each([{}, { type: 'x.one' }])('reads no more of many streams at once than a stretch, or than of a few: %j', async (filter) => {
  const limits = new SmallLimits();
  const stretch = jest.spyOn(SupervisorEventsRepository.prototype, 'stretch');
  try {
    const caller = { ...ANYBODY, cities: CITIES };
    let cursor: string | undefined;
    do {
      const query = SupervisorEventsQuery.parse({ limit: '50', ...filter, ...present({ cursor }) });
      cursor = (JSON.parse(await services(limits).supervisor.list(query, caller)) as Body).next_cursor;
    } while (cursor !== undefined);
    const most = stretch.mock.calls.map(([left, , room, window, most]) => {
      const streams = Math.min(left.length, most);
      const allowed = 'type' in filter ? limits.fewStreams * (room.rows + 1) : limits.stretch + streams;
      return streams * Math.min(window, room.rows + 1) <= allowed;
    });
    expect(most.length).toBeGreaterThan(1);
    expect(new Set(most)).toEqual(new Set([true]));
  } finally {
    stretch.mockRestore();
  }
});

// Guards: all that a city has done since would be read to find what is left of one kind, of each of a thousand cities.
it('reads of many streams no event of another kind than it is asked for', async () => {
  const scope = { cities: CITIES, since: undefined, until: undefined, filter: toFilter({ type: 'x.seldom' }) };
  const seldom = (stream: string) => ({ stream, type: 'x.seldom', actor: 'eve', payload: {} });
  const others = CITIES.flatMap((stream) => Array.from({ length: 50 }, () => ({ stream, type: 'x.one', actor: 'ann', payload: {} })));
  // The first is the one that a stretch of three leaves out, and where it ends.
  for (const stream of CITIES) await append([seldom(stream)]);
  await append(others);
  await append(CITIES.slice(1).map(seldom));
  const nodes = await plansOf(
    pool,
    async (asking) => {
      const repository = new SupervisorEventsRepository(asking);
      const streams = (await repository.streams(scope, undefined, 3))!;
      const found = await repository.stretch(streams, scope, wholePage(10), 2 ** 40, 3);
      expect(found.items.map(({ json }) => (JSON.parse(json) as Item).city)).toEqual(['delta', 'gamma', 'beta', 'delta', 'gamma', 'beta']);
      expect(found.left.filter(({ upto, after }) => upto > after)).toHaveLength(1);
    },
    'only',
  );
  expect(rowsRead(nodes, 'events')).toBeLessThan(40);
  const whole = new SupervisorEventsRepository(db);
  const streams = (await whole.streams(scope, undefined, 3))!;
  expect(await whole.stretch(streams, scope, wholePage(2), 2 ** 40, 3)).toMatchObject({ more: true, left: [] });
});

it('asks the index by time for what a list of all cities is bounded by', async () => {
  const bounded = { cities: undefined, since: 1_000, until: undefined, filter: toFilter({}) };
  // What autovacuum may leave behind here; the planner then reads the whole table, where it may. Of few streams it would read each one's.
  await sql`update pg_class set reltuples = 6, relpages = 1 where relname = 'events'`.execute(db);
  await sql`update pg_class set reltuples = 100000, relpages = 1 where relname = 'event_streams'`.execute(db);
  const work = async (asking: Db): Promise<void> => {
    const repository = new SupervisorEventsRepository(asking);
    await repository.page(undefined, undefined, bounded, wholePage(10));
    await repository.count(bounded, 10);
    await repository.skip(undefined, bounded, 10);
  };
  const nodes = await plansOf(pool, work, 'only');
  const scans = nodes.filter((node) => node['Relation Name'] === 'events');
  expect(scans.length).toBe(3);
  for (const scan of scans) expect(scan['Index Cond']).toMatch(/^\(?ts >= /);
});

it('finds where a time lies for a city that says much and for one that says little', async () => {
  const most = 200;
  await append(Array.from({ length: most }, () => ({ stream: 'alpha', type: 'x.one', actor: 'ann', payload: {} })));
  const { rows } = await sql<{ name: string; found: number; wanted: number }>`
    select s.name, event_seq_before(s.id, t.ts) as found,
      greatest(s.floor, (select max(e.seq) from events e where e.stream_id = s.id and e.ts < t.ts)) as wanted
    from event_streams s, (select e.ts + d.d * interval '1 microsecond' as ts from events e, generate_series(0, 1) d(d) where e.seq % 5 = 0) t`.execute(
    db,
  );
  expect(rows.length).toBeGreaterThan(most);
  for (const row of rows) expect(row.found).toBe(row.wanted);
});
