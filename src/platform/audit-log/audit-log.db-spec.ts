import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { cloneDatabase, type TestDatabase } from '../../../test/support/database.js';
import { eventually } from '../../../test/support/sse.js';
import { AuditReadsRepository, type AuditFilter } from '../../modules/administration/audit/audit-reads.repository.js';
import { AuditRetention } from '../../modules/administration/audit/audit-retention.js';
import { loadConfig } from '../config/config.js';
import { AuditedRequest, onBehalfOf, type AuditEntry } from '../audit/audited-request.js';
import { createDb, createPool, type Db } from '../database/database.js';
import { PREPARES, Transactions } from '../database/transactions.js';
import { Failpoints } from '../failpoints/failpoints.js';
import { Lifecycle } from '../health/lifecycle.js';
import { AppLogger, createLogger } from '../logging/logger.js';
import { AuditLog } from './audit-log.js';
import { AuditRepository } from './audit.repository.js';

const log = new AppLogger(createLogger('silent'));
const EVERYTHING: AuditFilter = { cities: undefined, city: undefined, key: undefined, operation: undefined, outcome: undefined };
const ANY_TIME = { requestId: undefined, since: undefined, until: undefined };

let database: TestDatabase;
let db: Db;
let pool: ReturnType<typeof createPool>;
let transactions: Transactions;
let lifecycle: Lifecycle;
let audit: AuditLog;
let repository: AuditRepository;
let reads: AuditReadsRepository;

beforeEach(async () => {
  database = await cloneDatabase();
  pool = createPool(database.url);
  db = createDb(pool);
  transactions = new Transactions(db, new Failpoints());
  lifecycle = new Lifecycle(log);
  repository = new AuditRepository(pool);
  audit = new AuditLog(repository, transactions, lifecycle, log);
  audit.onModuleInit();
  reads = new AuditReadsRepository(db);
});
afterEach(async () => {
  await lifecycle.stop();
  await db.destroy();
  if (!pool.ending) await pool.end();
  await database.drop();
});

const entry = (more: Partial<AuditEntry> = {}): AuditEntry => ({
  request_id: randomBytes(8).toString('hex'),
  ...{ key_id: 'a'.repeat(12), actor: 'ci', session_id: null, session_city: null, address: '10.0.0.1' },
  ...{ operation: 'create-thing', method: 'POST', path: '/v0/city/{cityName}/things', city: 'alpha', ids: { id: 'al-1' } },
  ...{ status: 201, code: null, reason: null },
  ...more,
});
const of = (more?: Partial<AuditEntry>): AuditedRequest => new AuditedRequest(entry(more));
const refused = { status: 403, code: 'forbidden', reason: null };
const all = async () => (await reads.page(EVERYTHING, ANY_TIME, undefined, 10_000)).items;

describe('the record of a change', () => {
  it('is committed with it', async () => {
    const request = of();
    await onBehalfOf(request, () => transactions.run(() => Promise.resolve()));
    expect(request.recorded).toBe(true);
    expect(await all()).toMatchObject([{ ...request.entry, count: 1 }]);
    audit.answered(request, { status: 201, code: null, reason: null });
    await audit.flushed();
    expect(await all()).toHaveLength(1);
  });

  // Guard: the record of what was rolled back is rolled back with it.
  it('goes with it when it is rolled back', async () => {
    const request = of();
    await expect(onBehalfOf(request, () => transactions.run(() => Promise.reject(new Error('no'))))).rejects.toThrow('no');
    expect([request.recorded, await all()]).toEqual([false, []]);
    audit.answered(request, refused);
    await audit.flushed();
    expect(await all()).toMatchObject([{ request_id: request.entry.request_id, ...refused }]);
  });

  // Guard: a connection whose first statement failed is as good as before.
  it('refuses the change when it cannot be written, and harms nobody else', async () => {
    let worked = false;
    const bad = of({ ids: { id: 'a\0b' } });
    const running = onBehalfOf(bad, () => transactions.run(() => Promise.resolve((worked = true))));
    await expect(running).rejects.toThrow(/unicode|Unicode/);
    expect(worked).toBe(false);
    for (let n = 0; n < 3; n++) await onBehalfOf(of({ ids: { id: "it's \\ fine" } }), () => transactions.run(() => Promise.resolve()));
    expect((await all()).map(({ ids }) => ids.id)).toEqual(Array(3).fill("it's \\ fine"));
  });

  it('belongs to no transaction that only prepares it, and to the first of several that do not', async () => {
    const request = of();
    await onBehalfOf(request, async () => {
      await transactions.run(() => Promise.resolve(), PREPARES);
      expect([request.recorded, await all()]).toEqual([false, []]);
      await transactions.run(() => Promise.resolve());
      await transactions.run(() => Promise.resolve());
    });
    expect(await all()).toHaveLength(1);
  });

  // Guard: what a change was answered with in the end is told of it.
  it('tells what it was answered with, also when that was something else', async () => {
    const request = of({ status: 200 });
    await onBehalfOf(request, () => transactions.run(() => Promise.resolve()));
    audit.answered(request, { status: 503, code: 'unavailable', reason: null });
    await audit.flushed();
    expect(await all()).toMatchObject([{ request_id: request.entry.request_id, status: 503, code: 'unavailable' }]);
  });

  it('names what was accepted with it', async () => {
    const request = of({ city: null });
    await onBehalfOf(request, () =>
      transactions.run(() => {
        request.accepted = { operationRequestId: 'req-1', city: "be'ta\\" };
        return Promise.resolve();
      }),
    );
    expect(await all()).toMatchObject([{ operation_request_id: 'req-1', city: "be'ta\\" }]);
  });
});

describe('a flood of refused requests', () => {
  // Guard: what is refused fills no database.
  it('leaves few records that say how many they were', async () => {
    for (let n = 0; n < 3_000; n++) audit.answered(of(), refused);
    for (let n = 0; n < 3_000; n++)
      audit.answered(of({ key_id: null, actor: null, address: `10.1.${n >> 8}.${n & 255}` }), {
        status: 401,
        code: 'unauthorized',
        reason: 'x',
      });
    audit.endWindow();
    await audit.flushed();
    const rows = await all();
    const sum = (status: number): number => rows.filter((row) => row.status === status).reduce((n, { count }) => n + count, 0);
    expect([sum(403), sum(401)]).toEqual([3_000, 3_000]);
    expect(rows.filter(({ status }) => status === 403)).toHaveLength(61);
    expect(rows.length).toBeLessThan(61 + 100);
    // The next minute is another.
    const late = of();
    audit.answered(late, refused);
    await audit.flushed();
    expect(await all()).toContainEqual(expect.objectContaining({ request_id: late.entry.request_id, count: 1 }));
  });

  // Guard: a service that is called all the time fills no database.
  it('leaves few records of what was forwarded, by service, method and status, and takes none from what is refused', async () => {
    const forwarded = (service: string, method: string): AuditedRequest =>
      new AuditedRequest(
        entry({ operation: 'city-service-proxy', method, ids: { service, path: `/${randomBytes(4).toString('hex')}` } }),
        true,
      );
    for (let n = 0; n < 3_000; n++)
      audit.answered(forwarded(n % 3 === 0 ? 'chat' : 'board', n % 2 === 0 ? 'POST' : 'PUT'), { status: 200, code: null, reason: null });
    audit.answered(of(), refused);
    audit.endWindow();
    await audit.flushed();
    const rows = await all();
    const told = (service: string): typeof rows => rows.filter(({ ids }) => ids.service === service);
    expect([told('chat'), told('board')].map((own) => own.reduce((sum, { count }) => sum + count, 0))).toEqual([1_000, 2_000]);
    for (const service of ['chat', 'board']) {
      expect(told(service)).toHaveLength(30 + 2);
      expect(told(service).filter(({ ids }) => ids.path !== undefined)).toHaveLength(30);
    }
    expect(rows.filter(({ status, count }) => status === 403 && count === 1)).toHaveLength(1);
  });

  it('waits for a database that is away, and is counted when it is too much', async () => {
    const { store } = repository;
    repository.store = () => Promise.reject(new Error('away'));
    for (let n = 0; n < 50; n++) audit.answered(of(), refused);
    await audit.flushed();
    expect(await all()).toEqual([]);
    repository.store = store.bind(repository);
    await eventually(async () => (await all()).length === 50);
  });
});

it('a record is stored that comes in the very moment in which the last one has been', async () => {
  for (let ticks = 0; ticks < 30; ticks++) {
    let stored = 0;
    repository.store = async ({ length }) => {
      stored += length;
      if (stored > 1) return;
      void (async () => {
        for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
        audit.answered(of(), refused);
      })();
    };
    audit.answered(of(), refused);
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect([ticks, stored]).toEqual([ticks, 2]);
  }
});

describe('who reads forward', () => {
  // Guard: who reads forward misses nothing that commits later.
  it('misses nothing that commits later', async () => {
    const from = await reads.head();
    let finish = (): void => undefined;
    const slow = of({ actor: 'slow' });
    let begun = (): void => undefined;
    const beginning = new Promise<void>((resolve) => (begun = resolve));
    const running = onBehalfOf(slow, () =>
      transactions.run(() => {
        begun();
        return new Promise<void>((resolve) => (finish = resolve));
      }),
    );
    await beginning;
    const quick = of({ actor: 'quick' });
    await onBehalfOf(quick, () => transactions.run(() => Promise.resolve()));
    expect((await all()).map(({ actor }) => actor)).toEqual(['quick']);
    expect((await reads.after(EVERYTHING, from, 10)).items).toEqual([]);
    finish();
    await running;
    const seen = await eventually(async () => {
      const { items } = await reads.after(EVERYTHING, from, 10);
      return items.length === 2 ? items : undefined;
    });
    expect(seen.map(({ actor }) => actor)).toEqual(['slow', 'quick']);
  });

  it('sees what it may, a page at a time', async () => {
    const from = await reads.head();
    for (let n = 0; n < 9; n++)
      await onBehalfOf(of({ city: n % 3 === 0 ? 'alpha' : 'beta', actor: `n${n}` }), () => transactions.run(() => Promise.resolve()));
    const seen: (string | null)[] = [];
    let at = from;
    await eventually(async () => {
      const { items, position } = await reads.after({ ...EVERYTHING, cities: ['alpha'] }, at, 2);
      seen.push(...items.map(({ actor }) => actor));
      at = position;
      return seen.length === 3;
    });
    expect(seen).toEqual(['n0', 'n3', 'n6']);
  });
});

describe('the list', () => {
  it('goes back in pages without a gap, by all that can be asked for', async () => {
    for (let n = 0; n < 25; n++)
      audit.answered(of({ actor: `n${n % 5}`, operation: n % 2 === 0 ? 'even' : 'odd', ids: { n: `${n}` } }), refused);
    await audit.flushed();
    const seen: string[] = [];
    let below: Parameters<typeof reads.page>[2];
    do {
      const page = await reads.page({ ...EVERYTHING, operation: 'even', outcome: 'refused' }, ANY_TIME, below, 4);
      seen.push(...page.items.map(({ ids }) => ids.n!));
      below = page.last;
    } while (below !== undefined);
    expect(seen).toEqual(Array.from({ length: 13 }, (_, n) => `${24 - 2 * n}`));
    const asked = async (filter: Partial<AuditFilter>, times = {}): Promise<number> =>
      (await reads.page({ ...EVERYTHING, ...filter }, { ...ANY_TIME, ...times }, undefined, 100)).items.length;
    expect(await asked({ key: 'n1' })).toBe(5);
    expect(await asked({ key: 'a'.repeat(12) })).toBe(25);
    expect(await asked({ outcome: 'accepted' })).toBe(0);
    expect(await asked({ cities: ['beta'] })).toBe(0);
    expect(await asked({}, { since: new Date(Date.now() - 60_000), until: new Date(Date.now() + 60_000) })).toBe(25);
    expect(await asked({}, { until: new Date(Date.now() - 60_000) })).toBe(0);
  });
});

describe('retention', () => {
  const round = (values: object): Promise<void> =>
    new AuditRetention(loadConfig({ SVC_DATABASE_URL: database.url }, '/tmp').with(values), transactions, repository, lifecycle, log).round(
      4,
    );

  // Guard: records go by age and by number.
  it('drops the oldest by age and by number', async () => {
    for (let n = 0; n < 20; n++) audit.answered(of({ actor: `n${n}` }), refused);
    await audit.flushed();
    await pool.query("update audit_records set at = at - interval '2 days' where actor in ('n0', 'n1', 'n2', 'n3', 'n4')");
    await round({ auditRetentionMs: 24 * 3_600_000 });
    expect(await all()).toHaveLength(15);
    await round({ auditRecords: 3 });
    expect((await all()).map(({ actor }) => actor)).toEqual(['n19', 'n18', 'n17']);
  });

  const did = async (count: number, more: Partial<AuditEntry>): Promise<void> => {
    for (let n = 0; n < count; n++) await onBehalfOf(of({ actor: `n${n}`, ...more }), () => transactions.run(() => Promise.resolve()));
  };
  const left = async (): Promise<string[]> => (await all()).map(({ city, actor }) => `${city ?? '-'} ${actor}`).sort();
  const cities = (...names: readonly string[]) =>
    db
      .insertInto('event_streams')
      .values(names.map((name) => ({ name })))
      .execute();

  // Guard: one city pushes out nothing that was done elsewhere, or in none.
  it('leaves what others did, when one city has too many', async () => {
    await cities('alpha', 'beta');
    await did(3, { city: 'beta' });
    await did(1, { city: null, operation: 'create-key', actor: 'admin' });
    await did(20, { city: 'alpha' });
    await round({ auditRecords: 10 });
    expect(await left()).toEqual(['- admin', ...[14, 15, 16, 17, 18, 19].map((n) => `alpha n${n}`), ...[0, 1, 2].map((n) => `beta n${n}`)]);
    // Several that have too many have as many as each other, and what is over nobody's.
    await did(9, { city: null });
    await round({ auditRecords: 10 });
    expect(await left()).toEqual([
      ...[6, 7, 8].map((n) => `- n${n}`),
      ...[17, 18, 19].map((n) => `alpha n${n}`),
      ...[0, 1, 2].map((n) => `beta n${n}`),
    ]);
    await round({ auditRecords: 10 });
    expect(await left()).toHaveLength(9);
  });

  it('leaves the newest of each where there are more cities than records to keep', async () => {
    const names = Array.from({ length: 12 }, (_, n) => `city-${n}`);
    await cities(...names);
    for (const city of names) await did(2, { city });
    await round({ auditRecords: 10 });
    expect(await left()).toEqual(names.map((city) => `${city} n1`).sort());
    await round({ auditRecords: 10 });
    expect(await left()).toHaveLength(12);
  });

  // Guard: whoever is refused names the city.
  it('leaves the changes of a city whose name others wrote into refused requests, and names who did', async () => {
    await cities('alpha', 'beta', 'gamma');
    await did(10, { city: 'alpha' });
    for (let n = 0; n < 10; n++) audit.answered(of({ city: 'gamma', actor: `no${n}` }), refused);
    for (let n = 0; n < 1_000; n++)
      audit.answered(of({ city: 'alpha', key_id: `${n % 20}`.padStart(12, 'b'), actor: `no${n % 20}` }), refused);
    for (let n = 0; n < 60; n++) audit.answered(of({ city: 'alpha', key_id: 'f'.repeat(12), actor: 'flood' }), refused);
    await audit.flushed();
    await did(30, { city: 'beta' });
    const warn = jest.spyOn(log, 'warn');
    await round({ auditRecords: 500 });
    const expected = { city: 'alpha', records: 635, refused: true, most_by: 'f'.repeat(12) };
    expect(warn).toHaveBeenCalledWith({ of: [expected], records: 635 }, expect.stringContaining('refused requests first'));
    warn.mockRestore();
    const has = async (city: string, changed: boolean): Promise<number> =>
      (await all()).filter((one) => one.city === city && one.status < 400 === changed).length;
    expect(await Promise.all([has('alpha', true), has('beta', true), has('gamma', false), has('alpha', false)])).toEqual([10, 30, 10, 425]);
    // Changes leave a tenth to what was refused, of which nobody has more than the others.
    await did(500, { city: 'beta' });
    await round({ auditRecords: 500 });
    expect(await Promise.all([has('alpha', true), has('beta', true), has('gamma', false), has('alpha', false)])).toEqual([10, 418, 10, 37]);
  });

  // Guard: to count all of them takes minutes.
  it('counts them no more for one record more, and not where another process does', async () => {
    const counts = jest.spyOn(repository, 'dropBeyond');
    await did(41, {});
    const other = await pool.connect();
    await other.query('begin');
    await other.query('select pg_advisory_xact_lock(7305441825)');
    await round({ auditRecords: 40 });
    expect(await left()).toHaveLength(41);
    await other.query('commit');
    other.release();
    await round({ auditRecords: 40 });
    expect([(await left()).length, counts.mock.calls.length > 0]).toEqual([38, true]);
    counts.mockClear();
    await did(2, {});
    await round({ auditRecords: 40 });
    expect([(await left()).length, counts.mock.calls.length]).toEqual([40, 0]);
  });

  // Guard: names are free for whoever asks.
  it('takes all names that no city ever had for one', async () => {
    await cities('beta', 'gone');
    await db.updateTable('event_streams').set({ active: false }).where('name', '=', 'gone').execute();
    await did(3, { city: 'beta' });
    await did(3, { city: 'gone' });
    for (let n = 0; n < 20; n++) audit.answered(of({ city: `made-up-${n}`, actor: 'any' }), refused);
    await audit.flushed();
    await round({ auditRecords: 10 });
    expect(await left()).toEqual([
      ...[0, 1, 2].map((n) => `beta n${n}`),
      ...[0, 1, 2].map((n) => `gone n${n}`),
      ...[16, 17, 18, 19].map((n) => `made-up-${n} any`),
    ]);
  });

  it('puts what a restored dump brings before all that comes later', async () => {
    audit.answered(of({ actor: 'restored' }), refused);
    await audit.flushed();
    await pool.query('update audit_records set xid = xid + 1000000000');
    const from = await reads.head();
    await round({});
    await onBehalfOf(of({ actor: 'new' }), () => transactions.run(() => Promise.resolve()));
    const items = await eventually(async () => {
      const found = await reads.after(EVERYTHING, from, 10);
      return found.items.length > 0 ? found.items : undefined;
    });
    expect(items.map(({ actor }) => actor)).toEqual(['new']);
    expect((await reads.after(EVERYTHING, { xid: -1, id: 0 }, 10)).items.map(({ actor }) => actor)).toEqual(['restored', 'new']);
  });
});
