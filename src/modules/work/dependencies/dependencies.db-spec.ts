import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql, type Kysely } from 'kysely';
import { plansOf, rowsRead } from '../../../../test/support/plans.js';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import { ANYBODY, type Principal } from '../../../contract/principal.js';
import type { Database, Db } from '../../../platform/database/database.js';
import type { Tx } from '../../../platform/database/transactions.js';
import type { BeadRecord, NewBead } from '../work/bead-record.js';
import type { Work } from '../work/work.js';
import { DependenciesRepository } from './dependencies.repository.js';
import type { DependencyAddInput } from './dependencies.schemas.js';
import { DependenciesService } from './dependencies.service.js';

const TESTER: Principal = { ...ANYBODY, actor: 'tester' };

let fixture: WorkFixture;
let service: DependenciesService;
let other: DependenciesService;
beforeEach(async () => {
  fixture = await workFixture();
  const repository = new DependenciesRepository(fixture.db);
  service = new DependenciesService(repository, fixture.work);
  other = new DependenciesService(repository, fixture.another());
});
afterEach(() => fixture.close());

const create = async (n: number, more: Partial<NewBead> = {}): Promise<string[]> => {
  const { value } = await fixture.work.run(fixture.city, 'maker', async (w) => {
    const made: BeadRecord[] = [];
    for (let i = 0; i < n; i++) made.push(await w.create({ rig: '', title: `bead ${i}`, ...more }));
    return made;
  });
  return value.map((bead) => bead.id);
};
const add = (from: string, to: string, type: DependencyAddInput['type'] = 'blocks', at = service): Promise<unknown> =>
  at.add(fixture.city, from, { depends_on_id: to, type }, TESTER);
const find = (id: string): Promise<BeadRecord | undefined> =>
  fixture.work.run(fixture.city, 'tester', (w) => w.find(id)).then((d) => d.value);
const list = (id: string, direction: 'down' | 'up' | 'both' = 'down', more: { limit?: number; cursor?: string } = {}) =>
  service.list(fixture.city, id, { direction, limit: 0, ...more });
/** Pairs of beads that depend on each other, directly. */
const mutual = async (): Promise<number> => {
  const { rows } = await sql<{ n: number }>`
    select count(*) as n from bead_dependencies a join bead_dependencies b
      on (b.stream_id, b.issue_id, b.depends_on_id) = (a.stream_id, a.depends_on_id, a.issue_id) and a.blocking and b.blocking`.execute(
    fixture.db,
  );
  return rows[0]!.n;
};

describe('work that another session has under way', () => {
  // Guard: a session takes no work out of the hands of another one.
  it('is not blocked by a session, and may be related to what it likes', async () => {
    const [held, other] = (await create(2)) as [string, string];
    await fixture.work.run(fixture.city, 'deacon', (w) => w.update(held, { status: 'in_progress', assignee: 'deacon' }));
    const { name: city, streamId } = fixture.city;
    const as = (name: string): Principal => ({
      ...TESTER,
      session: { id: name, pk: 1, city, streamId, agentName: name, names: [name] },
    });
    const adds = (caller: Principal, type: DependencyAddInput['type']) =>
      service.add(fixture.city, held, { depends_on_id: other, type }, caller);
    const refused = { problem: 'forbidden', detail: `forbidden: bead ${held} is being worked on by deacon` };
    for (const type of ['blocks', 'waits-for', 'conditional-blocks'] as const)
      await expect(adds(as('mayor'), type)).rejects.toMatchObject(refused);
    expect(await adds(as('mayor'), 'related')).toMatchObject({ value: { blocking: false } });
    await expect(adds(as('mayor'), 'blocks')).rejects.toMatchObject(refused);
    expect(await find(held)).toMatchObject({ open_blockers: 0 });
    expect(await adds(as('deacon'), 'blocks')).toMatchObject({ value: { blocking: true } });
    // What is so already takes it out of nobody's hands.
    expect(await adds(as('mayor'), 'blocks')).toMatchObject({ value: { blocking: true } });
    await fixture.work.run(fixture.city, 'deacon', (w) => w.update(other, { status: 'closed' }));
    expect(await adds(as('mayor'), 'waits-for')).toMatchObject({ value: { type: 'waits-for', status: 'closed' } });
  });
});

describe('dependencies', () => {
  it('block until the target is closed, are events of the dependent, and repeat without effect', async () => {
    const [a, b] = (await create(2)) as [string, string];
    const at = (await fixture.events()).length;
    const first = await service.add(fixture.city, a, { depends_on_id: b, type: 'blocks' }, TESTER);
    expect(first.value).toEqual({
      issue_id: a,
      depends_on_id: b,
      type: 'blocks',
      blocking: true,
      satisfied: false,
      status: 'open',
      title: 'bead 1',
    });
    const again = await service.add(fixture.city, a, { depends_on_id: b, type: 'blocks' }, TESTER);
    expect(again).toEqual(first);
    expect((await fixture.events(at)).map((e) => [e.type, e.subject, e.actor])).toEqual([['bead.updated', a, 'tester']]);
    expect(await find(a)).toMatchObject({ ready: false });
    await fixture.work.run(fixture.city, 'tester', (w) => w.close(b));
    expect(await find(a)).toMatchObject({ ready: true });
    expect((await list(a)).value).toMatchObject({ items: [{ satisfied: true, status: 'closed' }], blocked_by: [], total: 1 });
  });

  it('onto a closed bead are satisfied at once, and of another type replace what was there', async () => {
    const [a, b] = (await create(2)) as [string, string];
    await fixture.work.run(fixture.city, 'tester', (w) => w.close(b));
    expect(await add(a, b, 'waits-for')).toMatchObject({ value: { satisfied: true } });
    expect(await find(a)).toMatchObject({ ready: true });
    expect(await add(a, b, 'related')).toMatchObject({ value: { type: 'related', blocking: false, satisfied: true } });
    expect((await list(a)).value.total).toBe(1);
  });

  it('go away once, and free the dependent', async () => {
    const [a, b] = (await create(2)) as [string, string];
    await add(a, b);
    const at = (await fixture.events()).length;
    await service.remove(fixture.city, a, b, TESTER);
    await service.remove(fixture.city, a, b, TESTER);
    await service.remove(fixture.city, a, 'al-999', TESTER);
    expect((await fixture.events(at)).map((e) => [e.type, e.subject])).toEqual([['bead.updated', a]]);
    expect(await find(a)).toMatchObject({ ready: true });
  });

  it('are listed by direction, with the bead at the other end, page by page', async () => {
    const [a, b, c, d] = (await create(4)) as [string, string, string, string];
    await add(a, b);
    await add(a, c, 'related');
    await add(d, a);
    expect((await list(a)).value).toEqual({
      items: [
        { issue_id: a, depends_on_id: c, type: 'related', blocking: false, satisfied: true, status: 'open', title: 'bead 2' },
        { issue_id: a, depends_on_id: b, type: 'blocks', blocking: true, satisfied: false, status: 'open', title: 'bead 1' },
      ],
      blocked_by: [b],
      total: 2,
    });
    expect((await list(a, 'up')).value).toMatchObject({ items: [{ issue_id: d, title: 'bead 3' }], blocked_by: [b], total: 1 });
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const { value } = await list(a, 'both', { limit: 1, ...(cursor === undefined ? {} : { cursor }) });
      expect(value).toMatchObject({ total: 3, blocked_by: [b] });
      seen.push(...value.items!.map((item) => `${item.issue_id}>${item.depends_on_id}`));
      cursor = value.next_cursor;
    } while (cursor !== undefined);
    expect(seen).toEqual([`${d}>${a}`, `${a}>${c}`, `${a}>${b}`]);
  });

  // Guard: there is no bound to what depends on a bead.
  it('are put in order as many as a page has', async () => {
    const [hub] = (await create(1)) as [string];
    for (const id of await create(20)) await add(id, hub);
    const page = (db: Db) => new DependenciesRepository(db).page(fixture.city.streamId, hub, 'up', 3, undefined);
    expect(await page(fixture.db)).toMatchObject({ total: 20, items: [{}, {}, {}, {}] });
    const nodes = await plansOf(fixture.pool, page, 'only');
    expect(nodes.filter((node) => node['Relation Name'] === undefined && node['Actual Rows'] > 4)).toEqual([]);
  });

  it('tell the position that the list was read at', async () => {
    const [a] = (await create(1)) as [string];
    expect((await list(a)).index).toBe((await fixture.events()).length);
    await expect(list('al-77')).rejects.toMatchObject({ problem: 'bead_not_found' });
  });

  it.each<[string, string, string, string]>([
    ['a bead that is not there', 'al-77', 'al-1', 'not_found: bead al-77 not found'],
    ['a target that is not there', 'al-1', 'al-77', 'not_found: bead al-77 not found'],
    ['the bead itself', 'al-1', 'al-1', 'validation_failed: validation failed'],
  ])('refuse %s', async (_what, from, to, detail) => {
    await create(1);
    await expect(add(from, to)).rejects.toMatchObject({ detail });
    expect(await fixture.events()).toHaveLength(1);
  });

  it('leave convoys and waits alone', async () => {
    const [convoy] = (await create(1, { type: 'convoy' })) as [string];
    const [member] = (await create(1)) as [string];
    const [wait] = (await create(1, { type: 'gate', labels: ['gc:wait'] })) as [string];
    await fixture.work.run(fixture.city, 'tester', (w) => w.putEdge({ issue_id: convoy, depends_on_id: member, type: 'tracks' }));
    await expect(add(convoy, member)).rejects.toMatchObject({ problem: 'wrong_state' });
    await expect(service.remove(fixture.city, convoy, member, TESTER)).rejects.toMatchObject({ problem: 'wrong_state' });
    await expect(add(wait, member)).rejects.toMatchObject({ problem: 'wrong_state' });
    await expect(service.remove(fixture.city, wait, member, TESTER)).rejects.toMatchObject({ problem: 'wrong_state' });
    await expect(add(member, wait)).resolves.toMatchObject({ value: { blocking: true } });
  });
});

describe('cycles', () => {
  it('are refused by name, and change nothing', async () => {
    const [a, b, c] = (await create(3)) as [string, string, string];
    await add(a, b);
    await add(b, c, 'waits-for');
    const at = (await fixture.events()).length;
    await expect(add(b, a)).rejects.toMatchObject({ detail: `conflict: dependency cycle: ${b} → ${a} → ${b}` });
    await expect(add(c, a, 'conditional-blocks')).rejects.toMatchObject({
      detail: `conflict: dependency cycle: ${c} → ${a} → ${b} → ${c}`,
    });
    expect(await fixture.events(at)).toEqual([]);
    expect((await list(c)).value.total).toBe(0);
  });

  it('are none over edges that inform, until such an edge is made to block', async () => {
    const [a, b] = (await create(2)) as [string, string];
    await add(a, b);
    await add(b, a, 'related');
    await expect(add(b, a, 'blocks')).rejects.toMatchObject({ problem: 'dependency_cycle' });
  });

  it('are found in the tree of parents, which blocking edges may cross', async () => {
    const [parent] = (await create(1)) as [string];
    const child = (await create(1, { parent }))[0]!;
    const grandchild = (await create(1, { parent: child }))[0]!;
    await expect(add(parent, child, 'parent-child')).rejects.toMatchObject({
      detail: `conflict: dependency cycle: ${parent} → ${child} → ${parent}`,
    });
    await expect(add(parent, grandchild, 'parent-child')).rejects.toMatchObject({ problem: 'dependency_cycle' });
    await add(grandchild, parent, 'parent-child');
    await add(parent, child);
    await add(parent, grandchild);
    await expect(add(grandchild, parent)).rejects.toMatchObject({ problem: 'dependency_cycle' });
  });

  it('through many beads are found in one walk, in which each edge is read twice', async () => {
    const ids = await create(41);
    await fixture.work.run(fixture.city, 'tester', async (w) => {
      for (let i = 0; i + 1 < ids.length; i++) await w.putEdges(ids[i]!, [ids[i + 1]!], 'blocks');
    });
    const through = async (db: Kysely<Database>): Promise<ReadonlyMap<string, string>> =>
      service.cyclesThrough({ tx: db as Tx, city: fixture.city } as Work, ids);
    expect(await through(fixture.db)).toEqual(new Map());
    expect(rowsRead(await plansOf(fixture.pool, through, 'only'), 'bead_dependencies')).toBeLessThanOrEqual(4 * 40);
    await fixture.work.run(fixture.city, 'tester', (w) => w.putEdges(ids[1]!, [ids[0]!], 'blocks'));
    const [a, b] = ids as [string, string];
    expect(await through(fixture.db)).toEqual(
      new Map([
        [a, `${a} → ${b} → ${a}`],
        [b, `${b} → ${a} → ${b}`],
      ]),
    );
    const steps = await new DependenciesRepository(fixture.db).stepsBelow(fixture.db as unknown as Tx, fixture.city.streamId, [a], 3);
    expect(steps).toHaveLength(3);
  });

  /** Both processes close the same cycles from either side, all at once. Returns how many pairs ended up in one. */
  const race = async (): Promise<number> => {
    const ids = await create(24);
    const tries = [];
    for (let i = 0; i < ids.length; i += 2)
      for (const [from, to, at] of [
        [ids[i]!, ids[i + 1]!, service],
        [ids[i + 1]!, ids[i]!, other],
      ] as const)
        tries.push(add(from, to, 'blocks', at).catch((error: Error & { problem?: string }) => error.problem ?? error.message));
    const outcomes = await Promise.all(tries);
    expect(outcomes.filter((o) => typeof o === 'string' && o !== 'dependency_cycle')).toEqual([]);
    return mutual();
  };

  it('cannot be closed by two processes together', async () => {
    expect(await race()).toBe(0);
    const { rows } = await sql<{ n: number }>`select count(*) as n from bead_dependencies`.execute(fixture.db);
    expect(rows[0]!.n).toBe(12);
  });

  // The guard of the test above: without the city's work lock both sides see no edge of the other.
  it('could be closed without the work lock', async () => {
    await sql`
      create or replace function begin_work(p_stream integer) returns boolean language sql as $$
        select exists (select from cities c where c.stream_id = p_stream and c.running) $$`.execute(fixture.db);
    // Whoever has looked for a cycle waits until the other has looked too.
    const gates = new Map<string, () => void>();
    const together = async (pair: string): Promise<void> => {
      const first = gates.get(pair);
      if (first !== undefined) first();
      else await new Promise<void>((resolve) => gates.set(pair, resolve));
    };
    for (const one of [service, other]) {
      const search = one.findCycle.bind(one);
      one.findCycle = async (work, from, to, relation) => {
        const found = await search(work, from, to, relation);
        await together([from, to].sort().join());
        return found;
      };
    }
    const [a, b] = (await create(2)) as [string, string];
    await Promise.allSettled([add(a, b, 'blocks', service), add(b, a, 'blocks', other)]);
    expect(await mutual()).toBe(2);
  });
});
