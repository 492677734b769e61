import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { workFixture, type WorkFixture } from '../../../../../test/support/work.js';
import { hands } from '../../sling/testing/slings.js';
import { launches, recipeOf, type Launches } from '../testing/launches.js';

let fixture: WorkFixture;
let runs: Launches;
let h: ReturnType<typeof hands>;
beforeEach(async () => {
  fixture = await workFixture();
  runs = launches(fixture);
  h = hands(fixture);
});
afterEach(() => fixture.close());

const TREE = `formula = "tree"
[vars]
who = "docs"
[[steps]]
id = "a"
title = "Ask {{who}}"
tags = ["x"]
notes = "softly"
priority = 1
[[steps]]
id = "b"
title = "Both"
needs = ["a"]
[[steps.children]]
id = "b1"
title = "One"
[[steps.children]]
id = "b2"
title = "Two"
[[steps]]
id = "c"
title = "Close"
needs = ["b"]
`;
const GRAPH = `formula = "graph"
[requires]
formula_compiler = ">=2.0.0"
[[steps]]
id = "a"
title = "Look at {{convoy_id}}"
[[steps]]
id = "b"
title = "Then"
needs = ["a"]
assignee = "deacon"
[[steps]]
id = "c"
title = "Meanwhile"
metadata = { "gc.run_target" = "polecat" }
`;
const stored = async (): Promise<Record<string, unknown>[]> => {
  const { rows } = await sql<Record<string, unknown>>`
    select id, title, issue_type as type, status, priority, assignee, parent, labels, metadata, ref, run_id, open_blockers, bead_is_ready(b) as ready
    from beads b order by length(id), id`.execute(fixture.db);
  return rows;
};

describe('a launch of a tree', () => {
  it('writes root, steps, edges and the run in one transaction, and offers none of it', async () => {
    const run = await runs.launch({ recipe: recipeOf(TREE, { who: 'Ann' }), target: 'mayor', labels: ['order-run:x'] });
    const [root, a, b, b1, b2, c] = await stored();
    expect(run).toMatchObject({
      id: 'al-1',
      formula: 'tree',
      status: 'pending',
      steps: 5,
      active: 0,
      closed: 0,
      created: true,
      vars: { who: 'Ann' },
    });
    expect(root).toMatchObject({
      id: 'al-1',
      type: 'molecule',
      title: 'tree',
      priority: 2,
      run_id: 'al-1',
      labels: ['order-run:x'],
      ready: false,
    });
    expect(root!.metadata).toMatchObject({
      'gc.formula_name': 'tree',
      'gc.var.who': 'Ann',
      'gc.routed_to': 'mayor',
      'gc.formula_source': 'formulas/tree.toml',
    });
    expect(a).toMatchObject({
      title: 'Ask Ann',
      type: 'step',
      priority: 1,
      labels: ['x'],
      parent: 'al-1',
      ref: 'tree.a',
      open_blockers: 0,
    });
    expect(a!.metadata).toMatchObject({ notes: 'softly', 'gc.step_ref': 'tree.a', 'gc.root_bead_id': 'al-1' });
    expect(b).toMatchObject({ type: 'epic', open_blockers: 3, parent: 'al-1' });
    expect([b1, b2]).toMatchObject([
      { parent: b!.id, open_blockers: 1 },
      { parent: b!.id, open_blockers: 1 },
    ]);
    expect(c).toMatchObject({ open_blockers: 1 });
    expect((await stored()).filter(({ ready }) => ready)).toEqual([]);
    const events = await fixture.events();
    expect(events.map(({ type, subject }) => `${type} ${subject}`)).toEqual(
      ['al-1', 'al-2', 'al-3', 'al-4', 'al-5', 'al-6'].map((id) => `bead.created ${id}`),
    );
    expect(events[2]!.payload).toMatchObject({
      bead: { is_blocked: true, dependencies: [{ depends_on_id: 'al-2' }, { depends_on_id: 'al-4' }, { depends_on_id: 'al-5' }] },
    });
  });

  it('tells of each bead what a read of it answers, with edges of all kinds', async () => {
    const more =
      '[[steps]]\nid = "d"\ntitle = "Late"\nneeds = ["c", "a"]\nwaits_for = "children-of(b)"\ngate = { type = "human", id = "yes" }\n';
    await runs.launch({ recipe: recipeOf(TREE + more), target: 'mayor', labels: ['z', 'a'], rig: 'web' });
    const { rows } = await sql<{ told: object; read: object }>`
      select e.payload -> 'bead' as told, bead_json(b) as read from events e join beads b on b.stream_id = e.stream_id and b.id = e.subject
      where e.type = 'bead.created' order by e.seq`.execute(fixture.db);
    expect(rows.map(({ told }) => told)).toEqual(rows.map(({ read }) => read));
    expect(rows).toHaveLength(8);
    const late = rows.find(({ read }) => 'ref' in read && read.ref === 'tree.d')!.told as { dependencies: unknown[]; needs: unknown[] };
    expect(late.dependencies).toHaveLength(4);
    expect(late.needs).toHaveLength(4);
  });

  it('links the bead that it is attached to, and answers the same run as long as that lives', async () => {
    const bead = await h.create({ priority: 0 });
    const order = { recipe: recipeOf(TREE), target: 'mayor', source: bead };
    const first = await runs.launch(order);
    expect(await h.bead(bead)).toMatchObject({ metadata: { molecule_id: first.id } });
    expect(await h.bead(first.id)).toMatchObject({ priority: 0 });
    expect(await h.eventsOf(async () => expect(await runs.launch(order)).toMatchObject({ id: first.id, created: false }))).toEqual([]);
    await expect(runs.launch({ ...order, recipe: recipeOf(TREE, { who: 'Bob' }) })).rejects.toMatchObject({
      problem: 'sling_source_conflict',
    });
    await expect(runs.launch({ ...order, recipe: recipeOf(GRAPH) })).rejects.toMatchObject({
      problem: 'sling_source_conflict',
      errors: [
        { location: 'body.source_bead_id' },
        { location: 'body.blocking_workflow_ids', value: [first.id] },
        { location: 'body.hint' },
      ],
    });
    const second = await runs.launch({ ...order, recipe: recipeOf(TREE, { who: 'Bob' }), force: true });
    expect(second.id).not.toBe(first.id);
    expect(await runs.run(first.id)).toMatchObject({ status: 'canceled', closed: 5, active: 0 });
    expect(await h.bead(first.id)).toMatchObject({ status: 'closed', metadata: { 'gc.outcome': 'canceled' } });
    expect(await h.bead(bead)).toMatchObject({ status: 'open', metadata: { molecule_id: second.id } });
    await h.close(bead);
    expect(await runs.run(second.id)).toMatchObject({ status: 'completed' });
    await expect(runs.launch({ ...order, force: true })).rejects.toMatchObject({ problem: 'wrong_state' });
  });

  it('writes nothing when it is refused', async () => {
    const bead = await h.create();
    const before = [await stored(), await fixture.events()];
    const long = recipeOf(`formula = "long"\n[[steps]]\nid = "a"\ntitle = "${'x'.repeat(501)}"\n`);
    await expect(runs.launch({ recipe: long, source: bead })).rejects.toMatchObject({ problem: 'invalid_request' });
    await expect(runs.launch({ recipe: recipeOf(TREE), source: 'al-99' })).rejects.toMatchObject({ problem: 'bead_not_found' });
    await expect(runs.launch({ recipe: recipeOf(TREE), rig: 'gone' })).rejects.toMatchObject({ problem: 'rig_not_found' });
    await expect(runs.launch({ recipe: recipeOf(GRAPH), target: 'mayor' })).rejects.toMatchObject({
      problem: 'invalid_request',
      detail: 'invalid: v2 formula "graph" requires a target convoy',
    });
    await expect(runs.launch({ recipe: recipeOf(GRAPH), source: bead })).rejects.toMatchObject({ problem: 'invalid_request' });
    expect([await stored(), await fixture.events()]).toEqual(before);
    expect((await sql`select from runs`.execute(fixture.db)).rows).toEqual([]);
  });
});

describe('a launch of a graph', () => {
  it('routes its steps, holds back its root, and has the bead in a convoy as its input', async () => {
    const bead = await h.create({ rig: 'web' });
    const run = await runs.launch({ recipe: recipeOf(GRAPH), target: 'mayor', source: bead, rig: 'web' });
    const rows = await stored();
    const convoy = rows.find(({ type }) => type === 'convoy')!;
    expect(run).toMatchObject({ compiler: 2, convoy_id: convoy.id, source_id: bead, steps: 3, target: 'mayor' });
    expect(convoy).toMatchObject({ title: `input convoy for ${bead}`, metadata: { 'gc.synthetic': 'true' } });
    const [root, a, b, c] = rows.filter(({ run_id }) => run_id === run.id);
    expect(root).toMatchObject({ type: 'task', open_blockers: 2, ready: false });
    expect(root!.metadata).toMatchObject({ 'gc.kind': 'workflow', 'gc.run_target': 'mayor', 'gc.input_convoy_id': convoy.id });
    expect(root!.metadata).not.toHaveProperty('gc.routed_to');
    const steps = [a, b, c].sort((x, y) => (String(x!.ref) < String(y!.ref) ? -1 : 1));
    expect(steps).toMatchObject([
      { title: `Look at ${String(convoy.id)}`, ready: true, parent: null },
      { assignee: 'deacon', ready: false, open_blockers: 1 },
      { ready: true },
    ]);
    expect(steps.map((step) => (step!.metadata as Record<string, string>)['gc.routed_to'])).toEqual(['mayor', 'mayor', 'web/polecat']);
    expect(await h.bead(bead)).toMatchObject({ metadata: { workflow_id: run.id } });
    const { rows: told } =
      await sql`select type, subject, run_id, step_id, depends_on_step_ids as needs from events where type like 'execution.%' order by seq`.execute(
        fixture.db,
      );
    expect(told).toHaveLength(4);
    expect(told[0]).toMatchObject({ type: 'execution.work_associated', subject: bead, run_id: run.id });
    expect(told).toContainEqual({
      type: 'execution.step_defined',
      subject: steps[1]!.id,
      run_id: run.id,
      step_id: 'graph.b',
      needs: ['graph.a'],
    });
    expect(told).toContainEqual({ type: 'execution.step_defined', subject: steps[2]!.id, run_id: run.id, step_id: 'graph.c', needs: [] });
  });
});
