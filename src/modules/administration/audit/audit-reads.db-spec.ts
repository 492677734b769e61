import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { cloneDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { plansOf, rowsRead } from '../../../../test/support/plans.js';
import { createDb, createPool, type Db, type PgPool } from '../../../platform/database/database.js';
import { AuditReadsRepository, type AuditFilter, type Place } from './audit-reads.repository.js';

const EVERYTHING: AuditFilter = { cities: undefined, city: undefined, key: undefined, operation: undefined, outcome: undefined };
const ANY_TIME = { requestId: undefined, since: undefined, until: undefined };

let database: TestDatabase;
let pool: PgPool;
let db: Db;

beforeEach(async () => {
  database = await cloneDatabase();
  pool = createPool(database.url);
  db = createDb(pool);
});
afterEach(async () => {
  await pool.end();
  await database.drop();
});

/** Records of `of`, an SQL expression over `n` that says whose the nth is, three at a time. */
async function record(of: string, count: number): Promise<void> {
  await sql`
    insert into audit_records (request_id, actor, operation, method, path, city, ids, status, at)
    select 'r' || n, 'a', case when n % 3 = 0 then 'third' else 'other' end, 'POST', '/', ${sql.raw(of)}, '{}', 201, '2026-01-01Z'::timestamptz + n / 3 * interval '1 second'
    from generate_series(1, ${count}::int) n`.execute(db);
  await sql`analyze audit_records`.execute(db);
}

describe('the records of some cities', () => {
  it('are read without those that all others have made since', async () => {
    await record(`case when n <= 1000 then 'quiet-' || n % 20 else 'loud' end`, 4_000);
    const quiet = Array.from({ length: 20 }, (_, n) => `quiet-${n}`);
    for (const [cities, newest] of [
      [['quiet-7'], 987],
      [quiet, 1_000],
    ] as const) {
      const nodes = await plansOf(pool, async (traced) => {
        const page = await new AuditReadsRepository(traced).page({ ...EVERYTHING, cities }, ANY_TIME, undefined, 5);
        expect([page.items.length, page.items[0]!.request_id]).toEqual([5, `r${newest}`]);
      });
      // Each city's newest, and what is shown of these once more.
      expect(Math.round(rowsRead(nodes, 'audit_records'))).toBeLessThanOrEqual(6 * cities.length + 6);
    }
  });

  it('are read without most of those that all others have made since, also where they are very many', async () => {
    await record(`case when n <= 1000 then 'quiet-' || n % 20 when n <= 2500 then 'busy' else 'loud' end`, 9_000);
    const cities = [...Array.from({ length: 20 }, (_, n) => `quiet-${n}`), ...Array.from({ length: 100 }, (_, n) => `none-${n}`)];
    const newestOf = async (more: readonly string[], below?: Place): Promise<[(string | null)[], number]> => {
      let found: (string | null)[] = [];
      const nodes = await plansOf(pool, async (traced) => {
        const page = await new AuditReadsRepository(traced).page({ ...EVERYTHING, cities: [...cities, ...more] }, ANY_TIME, below, 5);
        found = page.items.map((row) => row.request_id);
      });
      return [found, Math.round(rowsRead(nodes, 'audit_records'))];
    };
    const [found, read] = await newestOf([]);
    expect(found).toEqual(['r1000', 'r999', 'r998', 'r997', 'r996']);
    expect(read).toBeLessThanOrEqual(2_000 + 6 * 20 + 6);
    // Behind what others have made, and where these have made most, the newest of all do.
    const { last } = await new AuditReadsRepository(db).page({ ...EVERYTHING, cities: ['busy'] }, ANY_TIME, undefined, 1_497);
    expect(await newestOf(['busy'], last)).toEqual([['r1003', 'r1002', 'r1001', 'r1000', 'r999'], expect.any(Number)]);
    const [newest, few] = await newestOf(['loud']);
    expect([newest[0], few]).toEqual(['r9000', 12]);
    // A large page is among more of the newest.
    const large = await plansOf(pool, async (traced) => {
      const page = await new AuditReadsRepository(traced).page({ ...EVERYTHING, cities: [...cities, 'busy'] }, ANY_TIME, undefined, 400);
      expect(page.items[0]!.request_id).toBe('r2500');
    });
    // None of the 121 cities is read alone.
    expect(large.filter((node) => node['Relation Name'] === 'audit_records').map((node) => node['Actual Loops'])).not.toContain(121);
  });

  it('are read as those of a key are, where one is asked for', async () => {
    await record(`'c-' || n % 20`, 20_000);
    await sql`update audit_records set key_id = 'aaaaaaaaaaaa' where request_id in ('r19998', 'r19999', 'r20000')`.execute(db);
    await sql`analyze audit_records`.execute(db);
    const cities = Array.from({ length: 20 }, (_, n) => `c-${n}`);
    const nodes = await plansOf(pool, async (traced) => {
      const page = await new AuditReadsRepository(traced).page({ ...EVERYTHING, cities, key: 'aaaaaaaaaaaa' }, ANY_TIME, undefined, 5);
      expect(page.items.map((row) => row.request_id)).toEqual(['r20000', 'r19999', 'r19998']);
    });
    expect(Math.round(rowsRead(nodes, 'audit_records'))).toBeLessThanOrEqual(6);
  });

  it.each([
    // Each city has a share of what is looked at.
    ['those of 20 that match', 20, 'none', 100, 40],
    ['the newest, for more cities than are read alone', 101, undefined, 5, 1_000],
  ])('are read up to a bound: %s', async (_what, count, operation, limit, lookedAt) => {
    await record(`'c-' || n % ${count}`, 4_000);
    const cities = Array.from({ length: count }, (_, n) => `c-${n}`);
    const nodes = await plansOf(pool, async (traced) => {
      await new AuditReadsRepository(traced).page({ ...EVERYTHING, cities, operation }, ANY_TIME, undefined, limit, lookedAt);
    });
    // And what is shown of these once more.
    expect(Math.round(rowsRead(nodes, 'audit_records'))).toBeLessThanOrEqual(operation === undefined ? 2 * (limit + 1) : lookedAt + 1);
  });

  it('that match are looked for in what quiet cities leave of what is looked at', async () => {
    await record(`case when n % 100 = 0 then 'quiet-' || n % 3 else 'loud' end`, 900);
    const reads = new AuditReadsRepository(db);
    const page = (operation: string, lookedAt: number) =>
      reads.page({ ...EVERYTHING, cities: ['loud', 'quiet-0', 'quiet-1', 'quiet-2'], operation }, ANY_TIME, undefined, 5, lookedAt);
    // A share alone ends at the 250th of the busy one. With what the others leave, nine of them here, all of it is looked at.
    const { items, last } = await page('none', 1_000);
    expect([items.length, last]).toEqual([0, undefined]);
    const part = await page('none', 400);
    expect(part.last!.id).toBeLessThan((await page('none', 100)).last!.id - 250);
    // What fills a page takes none of it.
    const nodes = await plansOf(pool, async (traced) => {
      const found = await new AuditReadsRepository(traced).page(
        { ...EVERYTHING, cities: ['loud', 'quiet-0', 'quiet-1', 'quiet-2'], operation: 'third' },
        ANY_TIME,
        undefined,
        5,
        400,
      );
      expect(found.items).toHaveLength(5);
    });
    expect(Math.round(rowsRead(nodes, 'audit_records'))).toBeLessThanOrEqual(100 + 9 + 7);
  });

  it('that match are counted for a page with one look at each', async () => {
    await record(`'c-' || n % 25`, 2_000);
    const cities = Array.from({ length: 25 }, (_, n) => `c-${n}`);
    const nodes = await plansOf(pool, async (traced) => {
      const page = await new AuditReadsRepository(traced).page(
        { ...EVERYTHING, cities, outcome: 'accepted' },
        ANY_TIME,
        undefined,
        5,
        1_000,
      );
      expect(page.items).toHaveLength(5);
    });
    const scans = nodes.filter((node) => node['Node Type'] === 'CTE Scan');
    const walked = scans.reduce(
      (sum, node) => sum + (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'],
      0,
    );
    expect(Math.round(walked)).toBeLessThanOrEqual(10 * 1_000);
  });

  it('come in pages that leave out none, also of the city of which there are most', async () => {
    await record(`case when n % 7 = 0 then 'quiet' when n % 5 = 0 then 'other' when n between 31 and 50 then 'unseen' else 'loud' end`, 90);
    const reads = new AuditReadsRepository(db);
    const paged = async (filter: AuditFilter, limit: number, lookedAt?: number): Promise<string[]> => {
      const seen: string[] = [];
      let below: Parameters<typeof reads.page>[2];
      do {
        const page = await reads.page(filter, ANY_TIME, below, limit, lookedAt);
        expect(page.items.length).toBeLessThanOrEqual(limit);
        seen.push(...page.items.map((row) => row.request_id!));
        below = page.last;
      } while (below !== undefined);
      return seen;
    };
    for (const cities of [['loud', 'quiet'], ['quiet', 'other', 'loud', 'none'], ['quiet']])
      for (const operation of [undefined, 'third']) {
        const { rows } = await sql<{ found: string }>`
          select request_id as found from audit_records where city = any(${cities}::text[]) and (operation = ${operation ?? ''} or ${operation === undefined})
          order by at desc, id desc`.execute(db);
        const filter = { ...EVERYTHING, cities, operation };
        for (const [limit, lookedAt] of [
          [100, undefined],
          [3, undefined],
          [1, 4],
          [3, 9],
        ] as const)
          expect(await paged(filter, limit, lookedAt)).toEqual(rows.map((row) => row.found));
      }
  });

  it('are of the cities that are seen, whichever is asked for', async () => {
    await record(`case when n % 2 = 0 then 'mine' else 'theirs' end`, 4);
    const of = async (filter: Partial<AuditFilter>, requestId?: string): Promise<string[]> =>
      (await new AuditReadsRepository(db).page({ ...EVERYTHING, ...filter }, { ...ANY_TIME, requestId }, undefined, 10)).items.map(
        (row) => row.request_id!,
      );
    expect(await of({ cities: ['mine', 'more'] })).toEqual(['r4', 'r2']);
    expect(await of({ cities: ['mine', 'more'], city: 'mine' })).toEqual(['r4', 'r2']);
    expect(await of({ cities: ['mine', 'more'], city: 'theirs' })).toEqual([]);
    expect(await of({ city: 'theirs' })).toEqual(['r3', 'r1']);
    expect(await of({ cities: [] })).toEqual([]);
    expect(await of({ cities: ['mine', 'more'] }, 'r2')).toEqual(['r2']);
    expect(await of({ cities: ['mine', 'more'] }, 'r3')).toEqual([]);
  });
});
