import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { plansOf, rowsRead } from '../../../../test/support/plans.js';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import type { Bead } from '../../../contract/beads.schemas.js';
import { COUNTED, SAMPLED } from '../../../platform/database/totals.js';
import { BeadsRepository } from './beads.repository.js';
import { BeadsQuery, ReadyQuery } from './beads.schemas.js';

const MANY = 3 * COUNTED;
const PAGE = 10;

let fixture: WorkFixture;

/** A tenth is in progress, a tenth waits for others, a tenth is no work; seven of ten are one agent's and most others of one of many. */
beforeAll(async () => {
  fixture = await workFixture();
  await sql`
    insert into beads (stream_id, id, title, status, issue_type, open_blockers, priority, assignee, created_at)
    select ${fixture.city.streamId}, 'n-' || g, 'plain', case when g % 10 = 0 then 'in_progress' else 'open' end, case when g % 10 = 1 then 'gate' else 'task' end,
      case when g % 10 = 2 then 1 else 0 end, nullif(g % 7, 6), case when g % 100 < 70 then 'mayor' when g % 100 < 99 then 'web/' || g % 29 end, timestamptz '2026-01-01' + (g * 7919 % ${MANY}) * interval '1 second'
    from generate_series(1, ${MANY}::int) g`.execute(fixture.db);
  await sql`vacuum analyze beads`.execute(fixture.db);
});
afterAll(() => fixture.close());

describe('a list by urgency', () => {
  const cases: [Record<string, string>, string][] = [
    [{}, 'true'],
    [{ status: 'open' }, `status = 'open'`],
    [{ status: 'in_progress' }, `status = 'in_progress'`],
    [{ assignee: 'mayor' }, `assignee = 'mayor'`],
    [{ assignee: 'mayor', status: 'open' }, `assignee = 'mayor' and status = 'open'`],
  ];
  const list = async (reads: BeadsRepository, query: Record<string, string>, limit: number): Promise<string[]> => {
    const page = await reads.list(fixture.city, BeadsQuery.parse({ sort: 'priority', ...query }), limit, undefined);
    return (JSON.parse(`[${page!.items}]`) as Bead[]).map(({ id }) => id);
  };

  it.each(cases)('with %j is in its order', async (query, holds) => {
    const { rows } = await sql<{ id: string }>`
      select id from beads where ${sql.raw(holds)} order by coalesce(priority, 2), created_at, id limit 400`.execute(fixture.db);
    expect(await list(new BeadsRepository(fixture.db, fixture.pool), query, 400)).toEqual(rows.map(({ id }) => id));
  });

  it.each(cases)('with %j reads its page, however many there are', async (query) => {
    const nodes = await plansOf(fixture.pool, (db) => list(new BeadsRepository(db, fixture.pool), query, PAGE));
    // Of each part as many as a page has, and one more; without an index in that order all of it would be sorted.
    const sorted = nodes.flatMap((node) => (node['Node Type'] === 'Sort' ? (node.Plans ?? []) : [])).map((node) => node['Actual Rows']);
    expect(sorted.length).toBeGreaterThan(0);
    expect(Math.max(...sorted)).toBeLessThanOrEqual(4 * (PAGE + 1));
    // What `total` counts, with a tenth of another status in between, and for each bead of the page its entries, its size and its JSON.
    if (query['assignee'] === undefined) expect(rowsRead(nodes, 'beads')).toBeLessThan(1.15 * COUNTED + 10 * (PAGE + 1));
  });
});

describe('a list by change of what few of the beads are', () => {
  const CLOSED = 10 * SAMPLED;
  let few: WorkFixture;

  /** The mayor has closed all of his but three, which are old and were not changed since. All that is closed was routed somewhere. */
  beforeAll(async () => {
    few = await workFixture();
    await sql`
      insert into beads (stream_id, id, title, status, closed_at, priority, parent, assignee, metadata, created_at)
      select ${few.city.streamId}::int, 'n-' || g, 'plain', case when closed then 'closed' else 'open' end, case when closed then now() end,
        case when g % 125 = 0 then 1 end, case when g = 2 then 'n-1' end, case when closed or g in (4, 5) then 'mayor' when g in (8, 12) then 'deacon' end,
        case when closed or g = 6 then '{"gc.routed_to": "old"}' else '{}' end::jsonb, timestamptz '2026-01-01' + g * interval '1 second'
      from (select g, g % 2 = 1 and g <> 5 as closed from generate_series(1, ${CLOSED * 2}::int) g) g`.execute(few.db);
    await sql`vacuum analyze beads`.execute(few.db);
  });
  afterAll(() => few.close());

  const read = async (ask: (reads: BeadsRepository) => Promise<{ items: string } | undefined>) => {
    let found: string[] = [];
    const nodes = await plansOf(few.pool, async (db) => {
      const page = await ask(new BeadsRepository(db, few.pool));
      found = (JSON.parse(`[${page!.items}]`) as Bead[]).map(({ id }) => id);
    });
    return { found, rows: rowsRead(nodes, 'beads'), indexes: nodes.map((node) => node['Index Name']) };
  };
  const listed = async (query: Record<string, string>) =>
    read((reads) => reads.list(few.city, BeadsQuery.parse({ ...query, sort: 'updated_at' }), PAGE, undefined));

  it.each<[Record<string, string>, string[]]>([
    [{ assignee: 'deacon', all: 'true' }, ['n-12', 'n-8']],
    [{ assignee: 'mayor' }, ['n-5', 'n-4']],
  ])('with %j looks at the next ones, and then for these alone', async (query, wanted) => {
    const { found, rows } = await listed(query);
    expect(found).toEqual(wanted);
    // The next ones, and their number.
    expect(rows).toBeLessThan(2.2 * SAMPLED);
  });

  it('of the children of a bead looks at no others', async () => {
    const { found, rows } = await listed({ parent: 'n-1', type: 'task' });
    expect(found).toEqual(['n-2']);
    expect(rows).toBeLessThan(10 * PAGE);
  });

  it('of what one in a hundred is, reads no more than has a page of them', async () => {
    const { found, rows } = await listed({ priority: '1', all: 'true' });
    expect(found).toHaveLength(PAGE);
    expect(rows).toBeLessThan(COUNTED + 3 * SAMPLED);
  });

  it('of what most are, reads a page', async () => {
    const { found, rows } = await listed({ type: 'task', all: 'true' });
    expect(found).toHaveLength(PAGE);
    expect(rows).toBeLessThan(COUNTED + 1.2 * SAMPLED);
  });

  it('tells how many there are where it has read them all', async () => {
    const old = BeadsQuery.parse({ sort: 'updated_at', type: 'task', created_before: '2026-01-01T03:03:20Z', all: 'true' });
    const page = await new BeadsRepository(few.db, few.pool).list(few.city, old, PAGE, undefined);
    expect(page!.total).toEqual({ total: 10_999 });
  });

  it('of what is ready and routed somewhere reads nothing of what was closed there', async () => {
    const { found, indexes } = await read((reads) =>
      reads.ready(few.city, ReadyQuery.parse({ unassigned: 'true', routed_to: 'old', limit: `${PAGE}` }), undefined),
    );
    expect(found).toEqual(['n-6']);
    expect(indexes).not.toContain('beads_terms_idx');
  });
});

describe('a list of a city of which one convoy has nearly all edges', () => {
  const EDGES = 3_000;
  let other: WorkFixture;

  beforeAll(async () => {
    other = await workFixture();
    const { streamId } = other.city;
    await sql`
      insert into beads (stream_id, id, title, issue_type)
      select ${streamId}, 'n-' || g, 'plain', case g when 0 then 'convoy' else 'task' end from generate_series(0, ${EDGES}::int) g`.execute(
      other.db,
    );
    await sql`
      insert into bead_dependencies (stream_id, issue_id, depends_on_id, type)
      select ${streamId}, 'n-0', 'n-' || g, 'tracks' from generate_series(1, ${EDGES}::int) g`.execute(other.db);
    await sql`vacuum full bead_dependencies`.execute(other.db);
    await sql`vacuum analyze beads, bead_dependencies`.execute(other.db);
  });
  afterAll(() => other.close());

  // Guard: where one convoy has nearly all edges, those of another bead are found by it.
  it('reads the edges of its beads alone', async () => {
    const nodes = await plansOf(other.pool, (db) =>
      new BeadsRepository(db, other.pool).list(other.city, BeadsQuery.parse({ type: 'task' }), PAGE, undefined),
    );
    const used = nodes.map((node) => node['Index Name']).filter((name) => name?.startsWith('bead_dep'));
    expect(new Set(used)).toEqual(new Set(['bead_dependencies_pkey']));
  });
});
