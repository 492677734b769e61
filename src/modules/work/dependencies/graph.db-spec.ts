import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import type { NewBead } from '../work/bead-record.js';
import type { Work } from '../work/work.js';
import { BeadGraphResponse, BeadNeighborhoodResponse, NeighborhoodQuery } from './dependencies.schemas.js';
import { GraphRepository } from './graph.repository.js';
import { GraphService } from './graph.service.js';
import { NeighborhoodRepository } from './neighborhood.repository.js';

let fixture: WorkFixture;
let service: GraphService;
beforeEach(async () => {
  fixture = await workFixture();
  service = new GraphService(new GraphRepository(fixture.db), new NeighborhoodRepository(fixture.db));
});
afterEach(() => fixture.close());

const run = <T>(body: (work: Work) => Promise<T>): Promise<T> => fixture.work.run(fixture.city, 'tester', body).then((done) => done.value);
const create = (title: string, more: Partial<NewBead> = {}): Promise<string> =>
  run((w) => w.create({ rig: '', title, ...more })).then((bead) => bead.id);
const graph = async (root: string) => {
  const { value, index } = await service.graph(fixture.city, root);
  const answer = BeadGraphResponse.parse(JSON.parse(value));
  return { ...answer, ids: answer.beads!.map((bead) => bead.id), index };
};

describe('the graph of a bead', () => {
  it('is the bead alone when nothing belongs to it', async () => {
    const root = await create('alone');
    await create('stranger');
    expect(await graph(root)).toMatchObject({
      root: { id: root },
      ids: [root],
      deps: [],
      membership: 'direct-root-id+parent-closure',
      index: 2,
    });
    await expect(graph('al-77')).rejects.toMatchObject({ problem: 'bead_not_found' });
  });

  it('holds the beads of its run, open and closed, with their children, and the edges among them', async () => {
    const early = await create('created before its root');
    const root = await create('root');
    const step = await create('step', { metadata: { 'gc.root_bead_id': root } });
    const child = await create('child', { parent: step });
    const grandchild = await create('grandchild', { parent: child });
    await create('of another root', { metadata: { 'gc.root_bead_id': early } });
    const outside = await create('outside');
    await run(async (w) => {
      await w.update(early, { metadata: { 'gc.root_bead_id': root } });
      await w.putEdge({ issue_id: step, depends_on_id: early, type: 'blocks' });
      await w.putEdge({ issue_id: child, depends_on_id: step, type: 'parent-child' });
      await w.putEdge({ issue_id: child, depends_on_id: outside, type: 'blocks' });
      await w.close(grandchild);
    });
    const found = await graph(root);
    expect(found.ids).toEqual([root, early, step, child, grandchild]);
    expect(found.deps).toEqual([
      { from: early, to: step, kind: 'blocks' },
      { from: step, to: child, kind: 'parent-child' },
      { from: child, to: grandchild, kind: 'parent-child' },
    ]);
    expect(found.beads!.at(-1)).toMatchObject({ status: 'closed' });
    expect(found.beads![0]).toEqual(found.root);
  });

  it('of a convoy holds its members and their children', async () => {
    const convoy = await create('convoy', { type: 'convoy' });
    const member = await create('member', { rig: 'web' });
    const child = await create('child', { parent: member });
    const plain = await create('plain');
    await run(async (w) => {
      await w.putEdge({ issue_id: convoy, depends_on_id: member, type: 'tracks' });
      await w.putEdge({ issue_id: plain, depends_on_id: convoy, type: 'tracks' });
    });
    expect(await graph(convoy)).toMatchObject({
      ids: [convoy, member, child],
      deps: expect.arrayContaining([
        { from: member, to: convoy, kind: 'tracks' },
        { from: member, to: child, kind: 'parent-child' },
      ]),
      membership: 'direct-root-id+parent-closure+convoy-members',
    });
    expect((await graph(plain)).ids).toEqual([plain]);
  });

  it('ends where parents go in a circle', async () => {
    const a = await create('a');
    const b = await create('b', { parent: a });
    await run((w) => w.update(a, { parent: b }));
    expect((await graph(a)).ids).toEqual([a, b]);
  });

  it('is refused when it is too large for one answer', async () => {
    const root = await create('root');
    await sql`insert into beads (stream_id, id, title, parent)
      select ${fixture.city.streamId}, 'x-' || n, 'x', case when n % 2 = 0 then ${root} else 'x-' || (n - 1) end from generate_series(2, 10000) n`.execute(
      fixture.db,
    );
    expect((await graph(root)).ids).toHaveLength(10_000);
    await create('one more', { parent: 'x-2' });
    await expect(graph(root)).rejects.toMatchObject({ detail: `invalid: the graph of ${root} has more than 10000 beads` });
    await sql`delete from beads where id like 'x-%'`.execute(fixture.db);
    await sql`insert into beads (stream_id, id, title, parent, description)
      select ${fixture.city.streamId}, 'y-' || n, 'y', ${root}, repeat('d', 262144) from generate_series(1, 300) n`.execute(fixture.db);
    await expect(graph(root)).rejects.toMatchObject({
      detail: expect.stringMatching(/^invalid: the graph of al-1 holds \d+ bytes of text/),
    });
  });

  it('finds its members through indexes', async () => {
    await sql`insert into beads (stream_id, id, title, metadata)
      select ${fixture.city.streamId}, 'z-' || n, 'z', jsonb_build_object('k', n::text) from generate_series(1, 20000) n`.execute(
      fixture.db,
    );
    await sql`analyze beads`.execute(fixture.db);
    const statements: { sql: string; parameters: readonly unknown[] }[] = [];
    const watched = fixture.db.withPlugin({
      transformQuery: ({ node }) => {
        statements.push(fixture.db.getExecutor().compileQuery(node, { queryId: 'watched' }));
        return node;
      },
      transformResult: async ({ result }) => result,
    });
    await new GraphRepository(watched as never).graph(fixture.city.streamId, 'z-1', 10, 1_000_000);
    const { rows } = await fixture.pool.query<{ 'QUERY PLAN': string }>(`explain ${statements[0]!.sql}`, [...statements[0]!.parameters]);
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(plan).toContain('beads_terms_idx');
    expect(plan).not.toMatch(/Seq Scan on beads/);
  });
});

describe('the neighborhood of a bead', () => {
  const around = async (id: string, query: Record<string, string> = {}) => {
    const { value } = await service.around(fixture.city, id, NeighborhoodQuery.parse(query));
    const answer = BeadNeighborhoodResponse.parse(JSON.parse(value));
    return { ...answer, ids: answer.beads.map((bead) => bead.id) };
  };

  it('goes along edges and parents both ways, so far, with the edges among what it has', async () => {
    const [far, before, bead, after, child, grandchild, convoy] = [
      await create('far'),
      await create('before'),
      await create('the one', { description: 'long' }),
      await create('after'),
      await create('child'),
      await create('grandchild'),
      await create('a convoy', { type: 'convoy' }),
    ];
    await create('stranger', { metadata: { 'gc.root_bead_id': bead } });
    await run(async (w) => {
      await w.putEdge({ issue_id: before, depends_on_id: far, type: 'blocks' });
      await w.putEdge({ issue_id: bead, depends_on_id: before, type: 'blocks' });
      await w.putEdge({ issue_id: after, depends_on_id: bead, type: 'related' });
      await w.putEdge({ issue_id: convoy, depends_on_id: bead, type: 'tracks' });
      await w.update(child, { parent: bead });
      await w.update(grandchild, { parent: child });
      await w.close(after);
    });
    const near = await around(bead, { depth: '1' });
    expect(near.ids).toEqual([bead, before, after, child, convoy]);
    expect(near.deps).toEqual(
      expect.arrayContaining([
        { from: before, to: bead, kind: 'blocks' },
        { from: bead, to: after, kind: 'related' },
        { from: bead, to: convoy, kind: 'tracks' },
        { from: bead, to: child, kind: 'parent-child' },
      ]),
    );
    expect([near.deps.length, near.partial]).toEqual([4, false]);
    expect(near.beads[0]).toMatchObject({ has_description: true });
    expect(near.beads[0]).not.toHaveProperty('description');
    expect((await around(bead)).ids).toEqual([bead, before, after, child, convoy, far, grandchild]);
    expect((await around(far, { depth: '5' })).ids).toHaveLength(7);
    await expect(around('al-77')).rejects.toMatchObject({ problem: 'bead_not_found' });
  });

  it('ends with as many as are asked for, the nearest, however many there are', async () => {
    const hub = await create('hub');
    await sql`insert into beads (stream_id, id, title, parent) select ${fixture.city.streamId}, 'c-' || n, 'child', ${hub} from generate_series(1, 300) n`.execute(
      fixture.db,
    );
    const leaf = await create('leaf');
    await run((w) => w.putEdge({ issue_id: leaf, depends_on_id: hub, type: 'blocks' }));
    const cut = await around(leaf, { limit: '50' });
    expect([cut.ids.length, cut.ids.slice(0, 2), cut.partial]).toEqual([50, [leaf, hub], true]);
    const whole = await around(leaf, { limit: '302' });
    expect([whole.ids.length, whole.partial]).toEqual([302, false]);
    // In a circle of parents nothing is told twice.
    await sql`update beads set parent = 'c-1' where id = ${hub}`.execute(fixture.db);
    expect(new Set((await around('c-1', { depth: '5', limit: '1000' })).ids).size).toBe(302);
  });
});
