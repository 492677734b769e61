import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import { hands } from '../sling/testing/slings.js';
import type { RunRow } from './run-row.js';
import { RunReadsRepository } from './run-reads.repository.js';
import { launches, recipeOf, type Launches } from './testing/launches.js';

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
[[steps]]
id = "a"
title = "A"
[[steps]]
id = "b"
title = "B"
needs = ["a"]
[[steps.children]]
id = "b1"
title = "B1"
[[steps.children]]
id = "b2"
title = "B2"
[[steps]]
id = "c"
title = "C"
needs = ["b"]
`;
const GATED = `formula = "gated"
[[steps]]
id = "a"
title = "A"
[[steps]]
id = "b"
title = "B"
needs = ["a"]
gate = { type = "human", id = "approval" }
`;
const GRAPH = `formula = "graph"
[requires]
formula_compiler = ">=2.0.0"
[[steps]]
id = "a"
title = "A"
[[steps]]
id = "b"
title = "B"
needs = ["a"]
[[steps]]
id = "c"
title = "C"
needs = ["b"]
[[steps]]
id = "d"
title = "D"
`;
const WISP = `formula = "wisp"
description = "All in one"
`;

/** Ids of a run's beads by the last part of their steps. */
async function stepsOf(run: RunRow): Promise<Record<string, string>> {
  const { rows } = await sql<{ id: string; ref: string }>`select id, ref from beads where run_id = ${run.id}`.execute(fixture.db);
  return Object.fromEntries(rows.map(({ id, ref }) => [ref.split('.').at(-1)!, id]));
}
const close = (id: string, metadata: Record<string, string> = {}) => h.change(id, { status: 'closed', metadata });
const counts = async (): Promise<Record<string, number>> =>
  Object.fromEntries(
    (await new RunReadsRepository(fixture.db).counts(fixture.city.streamId)).value.filter((c) => c.runs > 0).map((c) => [c.status, c.runs]),
  );

describe('a tree', () => {
  it('is pending, then active, closes what has no open part left, and its root once, with its last step', async () => {
    const run = await runs.launch({ recipe: recipeOf(TREE), target: 'mayor' });
    const { a, b, b1, b2, c } = await stepsOf(run);
    expect(await counts()).toEqual({ pending: 1 });
    await h.change(a!, { status: 'in_progress', assignee: 'mayor' });
    expect(await runs.run(run.id)).toMatchObject({ status: 'active', active: 1, closed: 0 });
    await close(a!);
    expect(await runs.run(run.id)).toMatchObject({ status: 'active', active: 0, closed: 1 });
    await close(b1!);
    expect(await h.bead(b!)).toMatchObject({ status: 'open' });
    await close(b2!);
    expect(await h.bead(b!)).toMatchObject({ status: 'closed' });
    expect(await h.bead(c!)).toMatchObject({ open_blockers: 0 });
    expect(await h.eventsOf(() => close(c!))).toEqual([`bead.closed ${c}`, `bead.closed ${run.id}`, `molecule.resolved ${run.id}`]);
    expect(await runs.run(run.id)).toMatchObject({ status: 'completed', active: 0, closed: 5, outcome: 'pass' });
    expect((await h.bead(run.id)).metadata).toMatchObject({ close_reason: 'molecule autoclose: all step children closed' });
    expect((await h.bead(run.id)).metadata).not.toHaveProperty('gc.outcome');
    expect(await counts()).toEqual({ completed: 1 });
    expect((await fixture.events()).at(-1)).toMatchObject({
      message: 'molecule autoclose: all step children closed',
      payload: { issue_id: run.id, from_status: 'open', to_status: 'closed', actor: 'tester' },
    });
    await expect(h.change(run.id, { status: 'open' })).rejects.toMatchObject({ problem: 'wrong_state' });
  });

  it('is done when what is left of it is removed, and forgotten with its root', async () => {
    const run = await runs.launch({ recipe: recipeOf(TREE) });
    const { a, b1, b2, c } = await stepsOf(run);
    for (const id of [a!, b1!, b2!]) await close(id);
    await h.run((work) => work.remove(c!));
    expect(await runs.run(run.id)).toMatchObject({ status: 'completed', steps: 4, closed: 4 });
    await h.run((work) => work.remove(run.id));
    expect(await runs.run(run.id)).toBeUndefined();
    expect(await counts()).toEqual({});
  });

  it('waits at a gate that is reached, and nothing closes over it', async () => {
    const bead = await h.create();
    const run = await runs.launch({ recipe: recipeOf(GATED), source: bead });
    const { a, b, 'gate-b': gate } = await stepsOf(run);
    expect(await runs.run(run.id)).toMatchObject({ status: 'pending', gates: 0 });
    await close(a!);
    expect(await runs.run(run.id)).toMatchObject({ status: 'waiting', gates: 1 });
    await close(bead);
    expect(await runs.run(run.id)).toMatchObject({ status: 'waiting' });
    // Who has the bead again does what comes after the gate.
    await h.change(bead, { status: 'open' });
    await close(gate!);
    expect(await runs.run(run.id)).toMatchObject({ status: 'active', gates: 0 });
    await close(b!);
    expect(await runs.run(run.id)).toMatchObject({ status: 'completed' });
  });

  it.each(['opened', 'removed', 'opened after its bead was removed'])(
    'ends without what nobody has any more, once its gate is gone: %s',
    async (how) => {
      const bead = await h.create();
      const two = `${GATED}[[steps]]\nid = "c"\ntitle = "C"\ngate = { type = "human", id = "second" }\n`;
      const run = await runs.launch({ recipe: recipeOf(two), source: bead });
      const { a, b, 'gate-b': first, 'gate-c': second } = await stepsOf(run);
      await close(a!);
      await close(bead);
      await close(second!);
      expect(await runs.run(run.id)).toMatchObject({ status: 'waiting', gates: 1 });
      if (how.endsWith('its bead was removed')) await h.run((work) => work.remove(bead));
      const events = await h.eventsOf(() => (how === 'removed' ? h.run((work) => work.remove(first!)) : close(first!)));
      expect(events).toContain(`molecule.resolved ${run.id}`);
      expect(await runs.run(run.id)).toMatchObject({ status: 'skipped', gates: 0 });
      expect(await h.bead(b!)).toMatchObject({ status: 'closed', metadata: { 'gc.outcome': 'skipped' } });
      expect((await h.bead(run.id)).metadata).toMatchObject({ close_reason: 'molecule autoclose: source work bead closed' });
    },
  );

  it('is completed by the gate that is the last of it, also where its bead is closed', async () => {
    const bead = await h.create();
    const run = await runs.launch({ recipe: recipeOf(GATED), source: bead });
    const { a, b, 'gate-b': gate } = await stepsOf(run);
    await close(a!);
    await close(b!);
    await close(bead);
    expect(await runs.run(run.id)).toMatchObject({ status: 'waiting' });
    await close(gate!);
    expect(await runs.run(run.id)).toMatchObject({ status: 'completed' });
  });

  it('ends with the bead that it is for', async () => {
    const bead = await h.create();
    const run = await runs.launch({ recipe: recipeOf(TREE), source: bead });
    await close((await stepsOf(run)).a!);
    const events = await h.eventsOf(() => close(bead));
    expect(events).toContain(`molecule.resolved ${run.id}`);
    expect(await runs.run(run.id)).toMatchObject({ status: 'completed', closed: 5 });
    expect((await h.bead((await stepsOf(run)).c!)).metadata).toMatchObject({ 'gc.outcome': 'skipped' });
    const wisp = await runs.launch({ recipe: recipeOf(WISP), source: await h.create() });
    expect(wisp).toMatchObject({ root_only: true, steps: 1 });
    await h.change(wisp.id, { status: 'in_progress', assignee: 'mayor' });
    expect(await runs.run(wisp.id)).toMatchObject({ status: 'active', active: 1 });
    await close(wisp.source_id!);
    expect(await runs.run(wisp.id)).toMatchObject({ status: 'completed', closed: 1, active: 0 });
  });

  it('ends with the step that it is for, also where that is closed with its run', async () => {
    const graph = await runs.launch({ recipe: recipeOf(GRAPH), target: 'mayor' });
    const { a, d } = await stepsOf(graph);
    const tree = await runs.launch({ recipe: recipeOf(TREE), source: a! });
    const wisp = await runs.launch({ recipe: recipeOf(WISP), source: d! });
    await runs.work.run(fixture.city, 'tester', (w) => runs.endings.end(w, graph, { outcome: 'canceled', reason: 'over' }));
    for (const { id } of [tree, wisp]) expect(await runs.run(id)).toMatchObject({ status: 'completed', active: 0 });
    expect((await h.bead((await stepsOf(tree)).c!)).status).toBe('closed');
  });

  it('is over when somebody closes its root', async () => {
    const run = await runs.launch({ recipe: recipeOf(TREE) });
    await close(run.id, { 'gc.outcome': 'fail', 'gc.failure_reason': 'no_luck', close_reason: 'it broke' });
    expect(await runs.run(run.id)).toMatchObject({ status: 'failed', closed: 5, error_code: 'no_luck', error_message: 'it broke' });
  });
});

describe('a graph', () => {
  it('passes when all of it has, and closes the bead that it is for', async () => {
    const bead = await h.create();
    const run = await runs.launch({ recipe: recipeOf(GRAPH), target: 'mayor', source: bead });
    const { a, b, c, d } = await stepsOf(run);
    for (const id of [a!, b!, d!]) await close(id);
    expect(await runs.run(run.id)).toMatchObject({ status: 'active', closed: 3 });
    const events = await h.eventsOf(() => close(c!));
    expect(events).toEqual(
      expect.arrayContaining([
        `bead.closed ${c}`,
        `execution.step_completed ${c}`,
        `bead.closed ${run.id}`,
        `bead.closed ${bead}`,
        `convoy.closed ${run.convoy_id}`,
      ]),
    );
    expect(events).not.toContain(`molecule.resolved ${run.id}`);
    expect(await runs.run(run.id)).toMatchObject({ status: 'completed' });
    expect((await h.bead(run.id)).metadata).toMatchObject({ 'gc.outcome': 'pass' });
  });

  it('skips what needs a step that failed, finishes the rest, and fails', async () => {
    const bead = await h.create();
    const run = await runs.launch({ recipe: recipeOf(GRAPH), target: 'mayor', source: bead });
    const { a, b, c, d } = await stepsOf(run);
    await close(a!, { 'gc.outcome': 'fail', 'gc.failure_reason': 'no disk' });
    expect(await h.bead(b!)).toMatchObject({ status: 'closed', metadata: { 'gc.outcome': 'skipped' } });
    expect(await h.bead(c!)).toMatchObject({ status: 'closed', metadata: { 'gc.outcome': 'skipped' } });
    expect(await runs.run(run.id)).toMatchObject({ status: 'active', closed: 3 });
    await close(d!);
    expect(await runs.run(run.id)).toMatchObject({ status: 'failed', error_code: 'fail', error_message: 'no disk' });
    expect(await h.bead(bead)).toMatchObject({ status: 'open' });
  });

  // Guards: what it has skipped for the step is done after it, and not before, nor left out.
  it('takes up a step that has failed again with what it has skipped for it', async () => {
    const run = await runs.launch({ recipe: recipeOf(GRAPH), target: 'mayor' });
    const { a, b, c, d } = (await stepsOf(run)) as Record<'a' | 'b' | 'c' | 'd', string>;
    const open = (id: string) => h.change(id, { status: 'open' });
    const end = (id: string) => h.change(id, { status: 'closed' });
    await close(a, { 'gc.outcome': 'fail', 'gc.failure_reason': 'no disk', 'gc.output_json': '{}' });
    const events = await h.eventsOf(() => open(a));
    expect(events).toEqual([a, b, c].map((id) => `bead.updated ${id}`));
    expect(await runs.run(run.id)).toMatchObject({ status: 'pending', closed: 0 });
    for (const [id, blockers] of [
      [a, 0],
      [b, 1],
      [c, 1],
    ] as const) {
      expect(await h.bead(id)).toMatchObject({ status: 'open', open_blockers: blockers });
      for (const key of ['gc.outcome', 'gc.failure_reason', 'gc.output_json', 'close_reason'])
        expect((await h.bead(id)).metadata[key]).toBeUndefined();
    }
    // A plain end says that they have passed.
    for (const id of [a, b]) await end(id);
    // One that has passed is done anew, whatever was skipped by hand behind it.
    await close(c, { 'gc.outcome': 'skipped' });
    await open(b);
    for (const id of [b, d]) await end(id);
    expect(await runs.run(run.id)).toMatchObject({ status: 'completed', closed: 4 });
  });

  // Guard: nobody is offered a step before what it waits for, however many others wait for that.
  it('opens no step for whoever is quick where very many wait for what is before it', async () => {
    fixture.work.limits = { few: 1, step: 1 };
    const run = await runs.launch({ recipe: recipeOf(GRAPH), target: 'mayor' });
    const { a, b, c } = (await stepsOf(run)) as Record<'a' | 'b' | 'c', string>;
    for (let n = 0; n < 3; n++) await h.edge(await h.create(), b);
    await close(a, { 'gc.outcome': 'fail' });
    await h.change(a, { status: 'open' });
    expect([await h.bead(b), await h.bead(c)]).toMatchObject([
      { status: 'open', open_blockers: 1 },
      { status: 'open', open_blockers: 1 },
    ]);
  });

  // Guard: what has failed beside it goes on having it skipped.
  it('leaves skipped what another step that has failed has skipped as well', async () => {
    const more = '[[steps]]\nid = "e"\ntitle = "E"\nneeds = ["a", "d"]\n[[steps]]\nid = "o"\ntitle = "O"\n';
    const run = await runs.launch({ recipe: recipeOf(`${GRAPH}${more}`), target: 'mayor' });
    const { a, c, d, e } = (await stepsOf(run)) as Record<'a' | 'c' | 'd' | 'e', string>;
    for (const id of [a, d]) await close(id, { 'gc.outcome': 'fail' });
    await h.change(a, { status: 'open' });
    expect([(await h.bead(c)).status, (await h.bead(e)).status]).toEqual(['open', 'closed']);
    await h.change(d, { status: 'open' });
    expect(await h.bead(e)).toMatchObject({ status: 'open', open_blockers: 2 });
  });

  // Guard: whatever came of it would count no more.
  it('takes up no round of what has ended without success', async () => {
    const text = GRAPH.replace('title = "A"\n', 'title = "A"\nretry = { max_attempts = 1 }\n');
    const run = await runs.launch({ recipe: recipeOf(text), target: 'mayor' });
    const { a, 1: attempt } = (await stepsOf(run)) as Record<'a' | '1', string>;
    await close(attempt, { 'gc.outcome': 'fail' });
    await expect(h.change(attempt, { status: 'open' })).rejects.toMatchObject({
      problem: 'wrong_state',
      detail: `conflict: bead ${attempt} is a part of ${a}, which has ended; a person opens that again first`,
    });
    for (const id of [a, attempt]) await h.change(id, { status: 'open' });
    await close(attempt, { 'gc.outcome': 'pass' });
    expect((await h.bead(a)).metadata).toMatchObject({ 'gc.outcome': 'pass' });
  });

  // Guard: its rounds stay skipped, and the run would be completed without it.
  it('takes no step up again that has skipped what had begun', async () => {
    const text = GRAPH.replace('title = "B"\n', 'title = "B"\nretry = { max_attempts = 2 }\n');
    const run = await runs.launch({ recipe: recipeOf(text), target: 'mayor' });
    const { a, b } = (await stepsOf(run)) as Record<'a' | 'b', string>;
    await close(a, { 'gc.outcome': 'pass' });
    await h.change(a, { status: 'open' });
    await close(a, { 'gc.outcome': 'fail' });
    await expect(h.change(a, { status: 'open' })).rejects.toMatchObject({
      problem: 'wrong_state',
      detail: `conflict: run ${run.id} has skipped ${b} for ${a}, which had begun before; launch its formula again`,
    });
  });

  it('takes no step up again for which it has skipped hundreds', async () => {
    const many = Array.from({ length: 301 }, (_, n) => `[[steps]]\nid = "n${n}"\ntitle = "N"\nneeds = ["a"]\n`).join('');
    const text = `${GRAPH.split('[[steps]]\nid = "b"')[0]}[[steps]]\nid = "o"\ntitle = "O"\n${many}`;
    const run = await runs.launch({ recipe: recipeOf(text), target: 'mayor' });
    const { a } = (await stepsOf(run)) as Record<'a', string>;
    await close(a, { 'gc.outcome': 'fail' });
    await expect(h.change(a, { status: 'open' })).rejects.toMatchObject({
      problem: 'wrong_state',
      detail: `conflict: run ${run.id} has skipped more than 300 steps for ${a}, which are not opened with it; launch its formula again`,
    });
    expect((await h.bead(a)).status).toBe('closed');
  });

  // Guard: what it closes itself has passed, so that no attempt is made again which is done.
  it('passes an attempt of another run that it was launched for', async () => {
    const retried = GRAPH.replace('title = "A"\n', 'title = "A"\nretry = { max_attempts = 2 }\n');
    const outer = await runs.launch({ recipe: recipeOf(retried), target: 'mayor' });
    const { 1: attempt } = (await stepsOf(outer)) as Record<'1', string>;
    const inner = await runs.launch({ recipe: recipeOf(GRAPH.replace('"graph"', '"inner"')), target: 'mayor', source: attempt });
    const { a, b, c, d } = (await stepsOf(inner)) as Record<'a' | 'b' | 'c' | 'd', string>;
    for (const id of [a, b, c, d]) await close(id);
    expect(await h.bead(attempt)).toMatchObject({ status: 'closed', metadata: { 'gc.outcome': 'pass' } });
    const steps = await stepsOf(outer);
    expect(Object.keys(steps)).not.toContain('2');
    expect((await h.bead(steps.a!)).metadata).toMatchObject({ 'gc.outcome': 'pass' });
  });

  it('asks about none of many steps on its own when it skips them', async () => {
    const many = Array.from({ length: 200 }, (_, n) => `[[steps]]\nid = "n${n}"\ntitle = "N"\nneeds = ["a"]\n`).join('');
    const run = await runs.launch({ recipe: recipeOf(`${GRAPH.split('[[steps]]\nid = "b"')[0]}${many}`), target: 'mayor' });
    const { a } = await stepsOf(run);
    const used = await h.run(async (work) => {
      await work.update(a!, { status: 'closed', metadata: { 'gc.outcome': 'fail' } });
      const { rows } = await sql<{ written: number; read: number }>`
        select n_tup_upd as written, idx_scan + seq_scan as read from pg_stat_xact_user_tables where relname = 'runs'`.execute(work.tx);
      return rows[0]!;
    });
    expect(await runs.run(run.id)).toMatchObject({ status: 'failed', steps: 201, closed: 201 });
    expect(used.written).toBeLessThan(20);
    expect(used.read).toBeLessThan(100);
  });
});
