import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { Bead } from '../../../contract/beads.schemas.js';
import { PAGE_BYTES } from '../../../platform/database/page-bytes.js';
import { COUNTED, SAMPLED } from '../../../platform/database/totals.js';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import type { NewBead } from '../work/bead-record.js';
import type { Work } from '../work/work.js';
import type { Place } from '../work/page-token.js';
import { TOKENS, type ListPlace, type Sort } from './bead-order.js';
import { BeadsRepository, type Page } from './beads.repository.js';
import { BeadsQuery, ReadyQuery } from './beads.schemas.js';
import type { ReadyPlace } from './ready-token.js';

let fixture: WorkFixture;
let reads: BeadsRepository;
/** Every bead of the city, read without any filter. */
let stored: Bead[];

const create = async (bead: Partial<NewBead>): Promise<string> =>
  (await fixture.work.run(fixture.city, 'tester', (work) => work.create({ rig: '', title: 'plain', ...bead }))).value.id;
const beadsOf = (page: Page<unknown> | undefined): Bead[] => (JSON.parse(`[${page!.items}]`) as unknown[]).map((bead) => Bead.parse(bead));
const ids = (beads: readonly Bead[]): string[] => beads.map((bead) => bead.id);

async function listed(query: Record<string, unknown>): Promise<{ ids: string[]; total: number }> {
  const page = await reads.list(fixture.city, BeadsQuery.parse(query), 1000, undefined);
  expect(page!.next).toBeUndefined();
  return { ids: ids(beadsOf(page)), total: page!.total.total };
}

async function readable(query: Record<string, unknown>): Promise<{ ids: string[]; total: number }> {
  const page = await reads.ready(fixture.city, ReadyQuery.parse({ limit: '1000', ...query }), undefined);
  return { ids: ids(beadsOf(page)), total: page!.total.total };
}

beforeAll(async () => {
  fixture = await workFixture();
  reads = new BeadsRepository(fixture.db, fixture.pool);
  const epic = await create({ title: 'The Epic', type: 'epic', description: 'Über all', priority: 1 });
  for (let i = 0; i < 40; i++)
    await create({
      rig: ['', 'web', 'core'][i % 3]!,
      title: i % 7 === 0 ? `50% of_${i}` : `number ${i}`,
      type: i % 5 === 0 ? 'bug' : i % 11 === 0 ? 'convoy' : undefined,
      priority: i % 6 === 5 ? undefined : i % 5,
      assignee: i % 4 === 0 ? 'mayor' : i % 9 === 0 ? 'web/witness' : undefined,
      description: i % 8 === 0 ? 'a Needle in it' : undefined,
      labels: [`l${i % 3}`, ...(i % 10 === 0 ? ['gc:session'] : []), ...(i % 13 === 0 ? ['k=v'] : [])],
      parent: i % 6 === 0 ? epic : undefined,
      metadata: { ...(i % 2 === 0 ? { k: `v${i % 4}` } : {}), ...(i % 15 === 0 ? { 'gc.routed_to': 'pool' } : {}) },
      deferUntil: i % 12 === 1 ? new Date('9999-12-31T23:59:59Z') : i % 12 === 2 ? new Date('2020-01-01T00:00:00Z') : undefined,
    });
  await fixture.work.run(fixture.city, 'tester', async (work) => {
    await work.putEdge({ issue_id: 'al-2', depends_on_id: 'al-3', type: 'blocks' });
    await work.putEdge({ issue_id: 'web-1', depends_on_id: 'al-4', type: 'blocks' });
    for (const id of ['al-4', 'web-3', 'co-3', 'co-5']) await work.close(id, 'done');
    for (const id of ['al-5', 'web-6']) await work.update(id, { status: 'in_progress', assignee: 'mayor' });
  });
  // Another city's beads, which no list of this one may show.
  await sql`with s as (insert into event_streams (name) values ('beta') returning id)
    insert into beads (stream_id, id, title, labels, metadata) select id, 'al-1', 'number 1', '{l1}', '{"k": "v0"}' from s`.execute(
    fixture.db,
  );
  stored = (
    await sql<{ bead: unknown }>`select bead_json(b) as bead from beads b where stream_id = ${fixture.city.streamId}`.execute(fixture.db)
  ).rows.map(({ bead }) => Bead.parse(bead));
});
afterAll(() => fixture.close());

/** A time as a text that sorts: zeros at its end are left out where it is written. */
const sorting = (time: string): string => time.replace(/(?:\.(\d+))?Z$/, (_, digits = '') => `.${String(digits).padEnd(6, '0')}Z`);
const created = (bead: Bead): string => sorting(bead.created_at);
const newestFirst = (a: Bead, b: Bead): number => (created(a) === created(b) ? (a.id < b.id ? 1 : -1) : created(a) < created(b) ? 1 : -1);
const unclosed = (bead: Bead): boolean => bead.status !== 'closed';
const touched = (bead: Bead): string => sorting(bead.updated_at ?? bead.created_at);

describe('the list of beads', () => {
  const middle = (): string => stored.map(created).sort()[20]!;
  const cases: [Record<string, unknown>, (bead: Bead) => boolean][] = [
    [{}, unclosed],
    [{ all: 'true' }, () => true],
    [{ status: 'closed' }, (b) => b.status === 'closed'],
    [{ status: 'open' }, (b) => b.status === 'open'],
    [{ status: 'in_progress', all: 'true' }, (b) => b.status === 'in_progress'],
    [{ type: 'bug' }, (b) => unclosed(b) && b.issue_type === 'bug'],
    [{ type: 'task', all: 'true' }, (b) => b.issue_type === 'task'],
    [{ label: 'l1' }, (b) => unclosed(b) && b.labels?.includes('l1') === true],
    [{ label: 'k=v', all: 'true' }, (b) => b.labels?.includes('k=v') === true],
    [{ assignee: 'mayor' }, (b) => unclosed(b) && b.assignee === 'mayor'],
    [{ assignee: 'witness' }, (b) => unclosed(b) && b.assignee === 'web/witness'],
    [{ assignee: 'web/witness', all: 'true' }, (b) => b.assignee === 'web/witness'],
    [{ rig: 'web' }, (b) => unclosed(b) && b.rig === 'web'],
    [{ rig: 'nowhere', all: 'true' }, () => false],
    [{ parent: 'al-1' }, (b) => unclosed(b) && b.parent === 'al-1'],
    [{ metadata: 'k=v0' }, (b) => unclosed(b) && b.metadata?.k === 'v0'],
    [{ metadata: ['k=v2', 'gc.routed_to'], all: 'true' }, (b) => b.metadata?.k === 'v2' && b.metadata['gc.routed_to'] !== undefined],
    [{ metadata: 'k', all: 'true' }, (b) => b.metadata?.k !== undefined],
    [{ metadata: 'k=' }, (b) => unclosed(b) && b.metadata?.k === undefined],
    [{ metadata: 'k=l1' }, () => false],
    [{ text: 'NEEDLE' }, (b) => unclosed(b) && b.description?.includes('Needle') === true],
    [{ text: 'über' }, (b) => b.description === 'Über all'],
    [{ text: '0% of_' }, (b) => unclosed(b) && b.title.includes('0% of_')],
    [{ priority: '0', all: 'true' }, (b) => b.priority === 0],
    [{ blocked: 'true' }, (b) => b.is_blocked === true],
    [{ blocked: 'false', all: 'true' }, (b) => b.is_blocked === false],
    [
      { rig: 'web', type: 'bug', label: 'l1', all: 'true' },
      (b) => b.rig === 'web' && b.issue_type === 'bug' && b.labels?.includes('l1') === true,
    ],
  ];

  it.each(cases)('with %j is what the rows say', async (query, expected) => {
    const wanted = stored.filter(expected).sort(newestFirst);
    expect(wanted.length === 0).toBe(/nowhere|k=l1/.test(JSON.stringify(query)));
    expect(await listed(query)).toEqual({ ids: ids(wanted), total: wanted.length });
  });

  it('takes times to the microsecond, whatever their offset', async () => {
    const at = middle();
    const far = `${new Date(new Date(at).getTime() + 20 * 3_600_000).toISOString().slice(0, 19)}${at.slice(19).replace('Z', '')}+20:00`;
    for (const [name, holds] of [
      ['created_after', (b: Bead) => created(b) > at],
      ['created_before', (b: Bead) => created(b) < at],
      ['updated_after', (b: Bead) => touched(b) > at],
      ['updated_before', (b: Bead) => touched(b) < at],
    ] as const) {
      const wanted = ids(stored.filter(holds).sort(newestFirst));
      expect(wanted.length).toBeGreaterThan(0);
      for (const time of [at, far]) expect((await listed({ [name]: time, all: 'true' })).ids).toEqual(wanted);
    }
  });

  it('loses and repeats nothing that was there when a walk began', async () => {
    const before = (await listed({ all: 'true' })).ids;
    const walked: string[] = [];
    let after: Page<{ createdAt: string; id: string }>['next'];
    do {
      const page = (await reads.list(fixture.city, BeadsQuery.parse({ all: 'true' }), 7, after))!;
      walked.push(...ids(beadsOf(page)));
      after = page.next;
      await sql`insert into beads (stream_id, id, title) values (${fixture.city.streamId}, ${`new-${walked.length}`}, 'later')`.execute(
        fixture.db,
      );
    } while (after !== undefined);
    await sql`delete from beads where id like 'new-%'`.execute(fixture.db);
    expect(walked).toEqual(before);
  });

  it('has a next place exactly when there are more', async () => {
    const { total } = await listed({});
    for (const limit of [1, total - 1, total, total + 1]) {
      const page = (await reads.list(fixture.city, BeadsQuery.parse({}), limit, undefined))!;
      expect({ limit, more: page.next !== undefined, n: beadsOf(page).length, total: page.total.total }).toEqual({
        limit,
        more: limit < total,
        n: Math.min(limit, total),
        total,
      });
    }
  });

  it('keeps apart beads that were made in the same microsecond', async () => {
    await sql`insert into beads (stream_id, id, title, issue_type, created_at)
      select ${fixture.city.streamId}, 'tie-' || g, 'tie', 'tie', '2020-01-01' from generate_series(1, 9) g`.execute(fixture.db);
    const walked: string[] = [];
    let after: Page<{ createdAt: string; id: string }>['next'];
    do {
      const page = (await reads.list(fixture.city, BeadsQuery.parse({ type: 'tie' }), 2, after))!;
      walked.push(...ids(beadsOf(page)));
      after = page.next;
    } while (after !== undefined);
    await sql`delete from beads where issue_type = 'tie'`.execute(fixture.db);
    expect(walked).toEqual(['tie-9', 'tie-8', 'tie-7', 'tie-6', 'tie-5', 'tie-4', 'tie-3', 'tie-2', 'tie-1']);
  });
});

describe('the orders of the list', () => {
  const lastChanged = (a: Bead, b: Bead): number => (touched(a) === touched(b) ? (a.id < b.id ? 1 : -1) : touched(a) < touched(b) ? 1 : -1);
  const orders: [string, (a: Bead, b: Bead) => number][] = [
    ['created_at', newestFirst],
    ['updated_at', lastChanged],
    ['priority', (a, b) => (a.priority ?? 2) - (b.priority ?? 2) || -newestFirst(a, b)],
  ];

  it.each(orders)('by %s are walked without loss or repetition', async (sort, order) => {
    for (const filter of [{ all: 'true' }, { label: 'l1' }]) {
      const wanted = ids(stored.filter((b) => 'all' in filter || (unclosed(b) && b.labels?.includes('l1'))).sort(order));
      const walked: string[] = [];
      let after: Page<ReadyPlace>['next'];
      do {
        const page = (await reads.list(fixture.city, BeadsQuery.parse({ ...filter, sort }), 5, after))!;
        walked.push(...ids(beadsOf(page)));
        // As a client gives it back.
        after = page.next && (TOKENS[sort as Sort].parse(TOKENS[sort as Sort].format(page.next)) as ReadyPlace);
      } while (after !== undefined);
      expect(walked).toEqual(wanted);
    }
  });

  it('take no cursor of another one', () => {
    const place = { createdAt: '1', id: 'al-1', priority: 1 };
    for (const [one, { format }] of Object.entries(TOKENS))
      for (const [other, { parse }] of Object.entries(TOKENS))
        if (one !== other) expect(() => parse(format(place))).toThrow('invalid_cursor');
  });
});

describe('a summary', () => {
  it('is the bead without what may be long, in lists and in what is ready', async () => {
    const short = (bead: Bead): unknown => {
      const { description, metadata: _, ...rest } = bead;
      return { ...rest, has_description: description !== undefined };
    };
    const list = (await reads.list(fixture.city, BeadsQuery.parse({ all: 'true', view: 'summary' }), 1000, undefined))!;
    expect(beadsOf(list)).toEqual([...stored].sort(newestFirst).map(short));
    const ready = (await reads.ready(fixture.city, ReadyQuery.parse({ view: 'summary', limit: '3' }), undefined))!;
    const full = (await reads.ready(fixture.city, ReadyQuery.parse({ view: 'full', limit: '3' }), undefined))!;
    expect(beadsOf(ready)).toEqual(beadsOf(full).map(short));
  });
});

describe('the ready list', () => {
  const NEVER = ['merge-request', 'gate', 'molecule', 'step', 'convoy', 'message', 'session', 'agent', 'role', 'rig'];
  const ready = (b: Bead): boolean =>
    b.status === 'open' &&
    !NEVER.includes(b.issue_type) &&
    b.labels?.includes('gc:session') !== true &&
    b.is_blocked === false &&
    (b.defer_until === undefined || new Date(b.defer_until) <= new Date());
  const urgentFirst = (a: Bead, b: Bead): number => (a.priority ?? 2) - (b.priority ?? 2) || -newestFirst(a, b);

  it.each<[Record<string, string>, (bead: Bead) => boolean]>([
    [{}, () => true],
    [{ rig: 'web' }, (b) => b.rig === 'web'],
    [{ assignee: 'mayor' }, (b) => b.assignee === 'mayor'],
    [{ assignee: 'witness' }, (b) => b.assignee === 'web/witness'],
    [{ unassigned: 'true' }, (b) => b.assignee === undefined],
    [{ routed_to: 'pool' }, (b) => b.metadata?.['gc.routed_to'] === 'pool'],
    [{ routed_to: 'pool', unassigned: 'true' }, (b) => b.metadata?.['gc.routed_to'] === 'pool' && b.assignee === undefined],
    [{ label: 'l2' }, (b) => b.labels?.includes('l2') === true],
  ])('with %j holds what can be worked on, in one order', async (query, expected) => {
    const wanted = stored.filter((b) => ready(b) && expected(b)).sort(urgentFirst);
    expect(wanted.length).toBeGreaterThan(0);
    expect(await readable(query)).toEqual({ ids: ids(wanted), total: wanted.length });
  });

  it('is walked without loss or repetition', async () => {
    const whole = (await readable({})).ids;
    const walked: string[] = [];
    let after: Page<{ priority: number; createdAt: string; id: string }>['next'];
    do {
      const page = (await reads.ready(fixture.city, ReadyQuery.parse({ limit: '4' }), after))!;
      expect(page.total).toEqual({ total: whole.length });
      walked.push(...ids(beadsOf(page)));
      after = page.next;
    } while (after !== undefined);
    expect(walked).toEqual(whole);
  });
});

describe('reads', () => {
  it('answer nothing of a city that does not run, and the head that belongs to the rows', async () => {
    const { head } = (await reads.find('alpha', 'al-1'))!;
    expect(head).toBe((await fixture.events()).at(-1)!.seq);
    expect(await reads.find('alpha', 'al-999')).toMatchObject({ head, revision: null });
    await sql`update cities set running = false`.execute(fixture.db);
    expect(await reads.find('alpha', 'al-1')).toBeUndefined();
    expect(await reads.list(fixture.city, BeadsQuery.parse({}), 1, undefined)).toBeUndefined();
    expect(await reads.ready(fixture.city, ReadyQuery.parse({}), undefined)).toBeUndefined();
    expect(await reads.children(fixture.city, 'al-1')).toBeUndefined();
    await sql`update cities set running = true`.execute(fixture.db);
  });

  it('answer many at once, to each what it has asked for, however long that is', async () => {
    const long = await create({ title: 'long', description: 'x'.repeat(50_000) });
    const packed = await create({ title: 'packed', metadata: { k: 'y'.repeat(50_000) } });
    const asked = ['al-1', long, 'al-2', 'al-999', packed, 'al-1', 'al-3'];
    const [first, ...all] = await Promise.all([reads.find('alpha', 'al-4'), ...asked.map((id) => reads.find('alpha', id))]);
    const found = all.map((row) => (row!.json === null ? null : Bead.parse(JSON.parse(row!.json))));
    expect(found.map((bead) => bead?.id ?? null)).toEqual(asked.map((id) => (id === 'al-999' ? null : id)));
    expect([found[1]!.description!.length, found[4]!.metadata!['k']!.length]).toEqual([50_000, 50_000]);
    expect(new Set([first, ...all].map((row) => row!.head)).size).toBe(1);
    expect(found[0]).toEqual(stored.find(({ id }) => id === 'al-1'));
  });

  it('tell what counts now of a bead that was read before, whatever has changed it', async () => {
    const { city, db } = fixture;
    const [id, other] = [await create({ title: 'kept' }), await create({ title: 'other' })];
    const edge = { issue_id: id, depends_on_id: other, type: 'blocks' as const };
    const change = (work: (work: Work) => Promise<unknown>) => fixture.work.run(city, 'tester', work);
    const row = (set: string) => sql`update beads set ${sql.raw(set)} where stream_id = ${city.streamId} and id = ${id}`.execute(db);
    const changes: (() => Promise<unknown>)[] = [
      () => create({ title: 'nothing but the head' }),
      () => change((work) => work.update(id, { title: 'another', priority: 3 })),
      () => change((work) => work.putEdge(edge)),
      () => change((work) => work.close(other)),
      () => change((work) => work.deleteEdge(id, other)),
      // As a lease goes on: neither its revision nor when it was changed.
      () => row(`status = 'in_progress', assignee = 'mayor', claim_fence = 4, attempts = 1, lease_until = '2026-01-02T03:04:05Z'`),
      () => row(`lease_until = '2026-01-02T03:04:06Z'`),
      () =>
        sql`insert into bead_dependencies (stream_id, issue_id, depends_on_id, type) values (${city.streamId}, ${id}, 'al-1', 'tracks')`.execute(
          db,
        ),
      () => sql`delete from bead_dependencies where stream_id = ${city.streamId} and issue_id = ${id}`.execute(db),
      () => sql`update cities set running = false`.execute(db),
      () => sql`update cities set running = true`.execute(db),
      () => change((work) => work.close(id)),
      () => row(`id = 'elsewhere'`),
      () => create({ title: 'the last' }),
    ];
    const told: unknown[] = [];
    for (const make of changes) {
      await reads.find('alpha', id);
      await make();
      const now = await new BeadsRepository(db, fixture.pool).find('alpha', id);
      expect(await reads.find('alpha', id)).toEqual(now);
      expect(await reads.find('alpha', id)).toEqual(now);
      told.push(now?.json);
    }
    expect(new Set(told).size).toBeGreaterThan(9);
  });

  it('take no name for another one', async () => {
    const odd = [reads.find('alpha', 'al-1'), reads.find('beta', 'al-1'), reads.find('alpha\nal-1', 'x'), reads.find('alpha', 'al-1\nx')];
    expect((await Promise.all(odd)).map((row) => row?.revision ?? null)).toEqual([expect.any(Number), null, null, null]);
  });

  it('list the unclosed children, then the roots that the metadata names, each once', async () => {
    const root = await create({ title: 'root', metadata: { molecule_id: 'al-4', workflow_id: 'al-999' } });
    const first = await create({ parent: root });
    const second = await create({ parent: root });
    const third = await create({ parent: root });
    await fixture.work.run(fixture.city, 'tester', async (work) => {
      await work.close(second);
      await work.update(root, { metadata: { workflow_id: third } });
    });
    const { items, found } = (await reads.children(fixture.city, root))!;
    expect(found).toBe(true);
    expect((JSON.parse(`[${items}]`) as Bead[]).map((b) => b.id)).toEqual([first, third, 'al-4']);
    expect(await reads.children(fixture.city, third)).toMatchObject({ items: '', found: true });
    expect(await reads.children(fixture.city, 'al-999')).toMatchObject({ found: false });
  });
});

describe('a city of more beads than are counted', () => {
  const MANY = COUNTED + 1_000;
  let big: WorkFixture;
  let lists: BeadsRepository;

  beforeAll(async () => {
    big = await workFixture();
    lists = new BeadsRepository(big.db, big.pool);
    await sql`
      insert into beads (stream_id, id, title, priority, assignee, labels, metadata, created_at)
      select ${big.city.streamId}, 'n-' || g, case when g = 7 then 'needle' else 'plain' end, g % 5, case when g % 10 = 0 then 'web/witness' else 'mayor' end,
        array['all'] || case when g % 2 = 0 then array['half'] else '{}' end || case when g <= 150 then array['old'] else '{}' end || case when g <= 3000 then array['many'] else '{}' end
          || case when g in (3, 4) then array['rare'] else '{}' end,
        case when g <= 150 then '{"k": "old"}' else '{}' end::jsonb, timestamptz '2026-01-01' + g * interval '1 second'
      from generate_series(1, ${MANY}::int) g`.execute(big.db);
  });
  afterAll(() => big.close());

  const ends = (n: number): string[] => [...Array(n).keys()].map((g) => `n-${MANY - g}`);
  /** All pages, and what each says of how many there are. */
  async function walked(query: Record<string, unknown>, limit: number): Promise<{ ids: string[]; totals: Page<unknown>['total'][] }> {
    const found = { ids: [] as string[], totals: [] as Page<unknown>['total'][] };
    for (let after: ListPlace | undefined, more = true; more; more = after !== undefined) {
      const page: Page<ReadyPlace> = (await lists.list(big.city, BeadsQuery.parse(query), limit, after))!;
      found.ids.push(...ids(beadsOf(page)));
      found.totals.push(page.total);
      after = page.next;
    }
    return found;
  }
  const least = (total: number): unknown => ({ total, total_is_estimate: true });

  it.each<[Record<string, unknown>, (g: number) => boolean, unknown]>([
    [{}, () => true, least(COUNTED)],
    [{ all: 'true' }, () => true, least(COUNTED)],
    [{ label: 'all' }, () => true, least(SAMPLED)],
    [{ label: 'half' }, (g) => g % 2 === 0, least(SAMPLED / 2)],
    [{ assignee: 'mayor' }, (g) => g % 10 !== 0, least(COUNTED)],
    [{ assignee: 'witness' }, (g) => g % 10 === 0, { total: MANY / 10 }],
    [{ priority: '0' }, (g) => g % 5 === 0, least(400)],
  ])('with %j counts so far, and tells all', async (query, holds, total) => {
    const found = await walked(query, 400);
    expect(found.ids).toEqual(ends(MANY).filter((id) => holds(Number(id.slice(2)))));
    expect(found.totals[0]).toEqual(total);
  });

  it.each<[Record<string, unknown>]>([
    [{ label: 'old' }],
    [{ metadata: 'k=old' }],
    [{ label: 'old', metadata: 'k=old', assignee: 'mayor' }],
  ])('with %j, which none of the newest has, knows all through the index', async (query) => {
    const wanted = ends(MANY).filter((id) => Number(id.slice(2)) <= 150 && (query['assignee'] === undefined || !id.endsWith('0')));
    const found = await walked(query, 40);
    expect(found.ids).toEqual(wanted);
    // Later pages are among them, and the count is of the newest.
    const [first, ...later] = found.totals;
    expect(first).toEqual({ total: wanted.length });
    for (const { total, total_is_estimate: more } of later) expect(more ? total <= wanted.length : total === wanted.length).toBe(true);
  });

  it.each<[Record<string, unknown>, string[]]>([
    [{ label: 'rare' }, ['n-4', 'n-3']],
    [{ text: 'NEEDLE' }, ['n-7']],
    [{ label: 'none' }, []],
  ])('with %j is exact, as the page is all there is', async (query, wanted) => {
    expect(await walked(query, 10)).toEqual({ ids: wanted, totals: [{ total: wanted.length }] });
  });

  it('counts what is ready alike', async () => {
    const of = async (query: Record<string, unknown>): Promise<Page<ReadyPlace>> =>
      (await new BeadsRepository(big.db, big.pool).ready(big.city, ReadyQuery.parse({ limit: '5', ...query }), undefined))!;
    expect((await of({})).total).toEqual(least(COUNTED));
    expect((await of({ label: 'all' })).total).toEqual(least(SAMPLED));
    const old = await of({ label: 'old' });
    expect([ids(beadsOf(old)), old.total]).toEqual([['n-5', 'n-10', 'n-15', 'n-20', 'n-25'], least(30)]);
  });

  it.each([
    ['old', { total: 150 }],
    ['many', least(600)],
  ])('asks the index at once for what it has seen to be rare: %s', async (label, later) => {
    const one = new BeadsRepository(big.db, big.pool);
    const page = async (query: Record<string, string>): Promise<Page<ReadyPlace>> =>
      (await one.list(big.city, BeadsQuery.parse({ label, ...query }), 5, undefined))!;
    const urgent = await page({ sort: 'priority' });
    // The next beads in this order have it, and none of the newest has.
    expect(urgent.total).toEqual(least(label === 'old' ? 30 : 600));
    expect((await page({})).total).toEqual({ total: label === 'old' ? 150 : 3_000 });
    expect(await page({ sort: 'priority' })).toEqual({ ...urgent, total: later });
  });
});

describe('pages of long beads', () => {
  it('end before they are too long for an answer, and lead on to the rest', async () => {
    const long = await workFixture();
    try {
      const lists = new BeadsRepository(long.db, long.pool);
      const { streamId } = long.city;
      // A description is long as it is, metadata once they are read: they are stored compressed.
      await sql`insert into beads (stream_id, id, title, description) select ${streamId}, 'd-' || n, 'x', repeat('d', 262144) from generate_series(1, 40) n`.execute(
        long.db,
      );
      await sql`
        insert into beads (stream_id, id, title, metadata)
        select ${streamId}, 'm-' || n, 'x', (select jsonb_object_agg('k' || k, repeat('v', 16384)) from generate_series(1, 50) k)
        from generate_series(1, 14) n`.execute(long.db);
      const all = (
        await sql<{ id: string }>`select id from beads where stream_id = ${streamId} order by created_at desc, id desc`.execute(long.db)
      ).rows.map((row) => row.id);
      const seen: string[] = [];
      let pages = 0;
      for (let after: Place | undefined, more = true; more; more = after !== undefined) {
        const page = (await lists.list(long.city, BeadsQuery.parse({}), 1000, after))!;
        expect(page.total).toEqual({ total: 54 });
        expect(Buffer.byteLength(page.items)).toBeLessThan(PAGE_BYTES + 1024 * 1024);
        seen.push(...ids(beadsOf(page)));
        after = page.next;
        pages++;
      }
      expect(seen).toEqual(all);
      expect(pages).toBeGreaterThan(2);
      const ready: string[] = [];
      for (let after: ReadyPlace | undefined, more = true; more; more = after !== undefined) {
        const page = (await lists.ready(long.city, ReadyQuery.parse({ limit: '1000' }), after))!;
        ready.push(...ids(beadsOf(page)));
        after = page.next;
      }
      expect(ready).toEqual([...all].reverse());
    } finally {
      await long.close();
    }
  });

  it('hold a bead however long it is', async () => {
    const long = await workFixture();
    try {
      const lists = new BeadsRepository(long.db, long.pool);
      await sql`insert into beads (stream_id, id, title, description) select ${long.city.streamId}, 'd-' || n, 'x', repeat('d', 9000000) from generate_series(1, 2) n`.execute(
        long.db,
      );
      const first = (await lists.list(long.city, BeadsQuery.parse({}), 10, undefined))!;
      expect(ids(beadsOf(first))).toHaveLength(1);
      const second = (await lists.list(long.city, BeadsQuery.parse({}), 10, first.next))!;
      expect([ids(beadsOf(second)).length, second.next]).toEqual([1, undefined]);
    } finally {
      await long.close();
    }
  });
});
