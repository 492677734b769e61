import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { ANYBODY, type Principal } from '../../../contract/principal.js';
import { Idempotency } from '../../../platform/idempotency/idempotency.js';
import { IdempotencyRepository } from '../../../platform/idempotency/idempotency.repository.js';
import type { Tx } from '../../../platform/database/transactions.js';
import { plansOf, rowsRead } from '../../../../test/support/plans.js';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import { RosterRepository } from '../../configuration/roster/roster.repository.js';
import { RosterService } from '../../configuration/roster/roster.service.js';
import { BeadChangesService, type Target } from '../../work/beads/bead-changes.service.js';
import { ConvoysRepository } from '../../work/convoys/convoys.repository.js';
import { ConvoysService } from '../../work/convoys/convoys.service.js';
import { DependenciesRepository } from '../../work/dependencies/dependencies.repository.js';
import { DependenciesService } from '../../work/dependencies/dependencies.service.js';
import { skippedBehind } from './skipped-behind.js';
import { EdgesRepository } from '../../work/work/edges.repository.js';
import { hands } from '../sling/testing/slings.js';
import { launches, recipeOf, type Launches } from './testing/launches.js';

/** What sessions may not do to runs: their gates are not theirs to open, nor what others have under way in them theirs to end. */
let fixture: WorkFixture;
let runs: Launches;
let h: ReturnType<typeof hands>;
let changes: BeadChangesService;
let dependencies: DependenciesService;
let convoys: ConvoysService;
beforeEach(async () => {
  fixture = await workFixture();
  runs = launches(fixture);
  h = hands(fixture);
  dependencies = new DependenciesService(new DependenciesRepository(fixture.db), fixture.work);
  convoys = new ConvoysService(new ConvoysRepository(fixture.db), fixture.work, new Idempotency(new IdempotencyRepository()));
  changes = new BeadChangesService(fixture.work, new RosterService(new RosterRepository(fixture.db)), dependencies, convoys);
});
afterEach(() => fixture.close());

const STEPS = `[[steps]]
id = "a"
title = "A"
[[steps]]
id = "b"
title = "B"
needs = ["a"]
`;
const TREE = `formula = "tree"\n${STEPS}`;
const WHOLE = `formula = "whole"
[[steps]]
id = "w"
title = "W"
[[steps.children]]
id = "p1"
title = "P1"
[[steps.children]]
id = "p2"
title = "P2"
`;
const GRAPH = `formula = "graph"\n[requires]\nformula_compiler = ">=2.0.0"\n${STEPS}`;
const GATED = `formula = "gated"\n${STEPS}gate = { type = "human", id = "approval" }\n[[steps]]\nid = "c"\ntitle = "C"\nneeds = ["b"]\n`;
const V2 = '[requires]\nformula_compiler = ">=2.0.0"\n';
const CHECK = 'check = { max_attempts = 1, check = { mode = "exec", path = "ok.sh" } }\n';
const CHECKED = `formula = "checked"\n${V2}${STEPS.replace('"A"\n', `"A"\n${CHECK}`)}[[steps]]\nid = "c"\ntitle = "C"\n`;
const RETRIED = `formula = "retried"\n${V2}${STEPS.replace('"A"\n', '"A"\nretry = { max_attempts = 2 }\n')}`;
const WISP = 'formula = "wisp"\ndescription = "All in one"\n';

const session = (name: string): Principal => {
  const { name: city, streamId } = fixture.city;
  return { ...ANYBODY, actor: name, session: { id: name, pk: 1, city, streamId, agentName: name, names: [name] } };
};
const as = (id: string, caller: Principal = session('mayor')): Target => ({ city: fixture.city, id, caller, expected: undefined });
async function stepsOf(run: { id: string }): Promise<Record<string, string>> {
  const { rows } = await sql<{ id: string; ref: string }>`select id, ref from beads where run_id = ${run.id}`.execute(fixture.db);
  return Object.fromEntries(rows.map(({ id, ref }) => [ref.split('.').at(-1)!, id]));
}
const begin = (id: string, by: string) => h.change(id, { status: 'in_progress', assignee: by });
const refused = async (change: () => Promise<unknown>, detail: string): Promise<void> => {
  const head = (await fixture.events()).length;
  await expect(change()).rejects.toMatchObject({ problem: 'forbidden', detail: `forbidden: ${detail}` });
  expect(await fixture.events()).toHaveLength(head);
};

describe('a gate of a run', () => {
  // Guards: sessions open no gate, whichever way they try.
  it('is opened by no session, in no way', async () => {
    const run = await runs.launch({ recipe: recipeOf(GATED), source: await h.create() });
    const { a, b, c, 'gate-b': gate } = (await stepsOf(run)) as Record<'a' | 'b' | 'c' | 'gate-b', string>;
    expect((await changes.close(as(a), 'done')).bead.status).toBe('closed');
    const isGate = `bead ${gate} is a gate of run ${run.id}, which sessions leave to whoever opens it`;
    await refused(() => changes.close(as(gate), 'approved'), isGate);
    await refused(() => changes.update(as(gate), { status: 'closed' }), isGate);
    await refused(() => changes.update(as(gate), { status: 'closed', metadata: { 'gc.outcome': 'fail' } }), isGate);
    await refused(() => changes.update(as(gate), { type: 'task' }), isGate);
    const order = (issue: string, target: string): string =>
      `bead ${issue} waits for ${target} of run ${run.id}, whose order sessions leave as it is`;
    const { city } = fixture;
    await refused(() => dependencies.remove(city, b, gate, session('mayor')), order(b, gate));
    await refused(() => dependencies.remove(city, c, b, session('mayor')), order(c, b));
    await refused(() => dependencies.add(city, b, { depends_on_id: gate, type: 'related' }, session('mayor')), order(b, gate));
    const waits = `bead ${b} is a step of run ${run.id} that waits for others: sessions neither begin nor close it`;
    await refused(() => changes.close(as(b), 'done'), waits);
    await refused(() => changes.update(as(b), { status: 'in_progress', assignee: 'mayor' }), waits);
    await refused(() => changes.close(as(run.id), 'done'), `run ${run.id} has yet to pass ${gate}, which sessions neither open nor decide`);
    // What somebody outside of the run has made wait for it does so too.
    const outside = await h.create();
    await h.edge(outside, gate);
    await refused(() => dependencies.remove(city, outside, gate, session('mayor')), order(outside, gate));
    expect(await dependencies.add(city, outside, { depends_on_id: gate, type: 'waits-for' }, session('mayor'))).toBeDefined();
    expect(await runs.run(run.id)).toMatchObject({ status: 'waiting', gates: 1 });
    await changes.close(as(gate, ANYBODY), 'approved');
    expect(await runs.run(run.id)).toMatchObject({ status: 'active', gates: 0 });
    for (const step of [b, c]) await changes.close(as(step), 'done');
    expect(await runs.run(run.id)).toMatchObject({ status: 'completed' });
  });

  // Guards: a gate that is blocked is one that its run does not wait at, which a session could end then.
  it('is blocked by no session, by an edge or by opening a step again', async () => {
    const run = await runs.launch({ recipe: recipeOf(GATED) });
    const { a, 'gate-b': gate } = (await stepsOf(run)) as Record<'a' | 'gate-b', string>;
    expect((await changes.close(as(a), 'done')).bead.status).toBe('closed');
    expect((await changes.reopen(as(a, ANYBODY))).bead.status).toBe('open');
    await changes.close(as(a), 'done');
    const outside = await h.create();
    const { city } = fixture;
    const isGate = `bead ${gate} is a gate of run ${run.id}, which sessions leave to whoever opens it`;
    await refused(() => dependencies.add(city, gate, { depends_on_id: outside, type: 'blocks' }, session('mayor')), isGate);
    const waits = `bead ${gate}, which waits for ${a}, is a gate that its run waits at`;
    await refused(() => changes.reopen(as(a)), waits);
    await refused(() => changes.update(as(a), { status: 'open' }), waits);
    await dependencies.add(city, gate, { depends_on_id: outside, type: 'blocks' }, ANYBODY);
    await refused(() => dependencies.remove(city, gate, outside, session('mayor')), isGate);
    // Its run does not wait at it now.
    expect((await changes.reopen(as(a))).bead.status).toBe('open');
  });

  it('is blocked by no session by what is outside of its run, whoever it is assigned to, until that is over', async () => {
    const run = await runs.launch({ recipe: recipeOf(GATED) });
    const { a, 'gate-b': gate } = (await stepsOf(run)) as Record<'a' | 'gate-b', string>;
    const outside = await h.create();
    await dependencies.add(fixture.city, gate, { depends_on_id: outside, type: 'blocks' }, ANYBODY);
    await changes.close(as(a), 'done');
    await changes.close(as(outside), 'done');
    await changes.update(as(gate, ANYBODY), { assignee: 'human' });
    await refused(() => changes.reopen(as(outside)), `bead ${gate}, which waits for ${outside}, is a gate that its run waits at`);
    await refused(() => changes.close(as(run.id), 'done'), `run ${run.id} has yet to pass ${gate}, which sessions neither open nor decide`);
    await changes.close(as(run.id, ANYBODY), 'done');
    expect((await changes.reopen(as(outside))).bead.status).toBe('open');
  });

  it('is blocked by no session where it is a step with that type', async () => {
    const typed = `formula = "typed"\n${STEPS}type = "gate"\n`;
    const { a, b } = (await stepsOf(await runs.launch({ recipe: recipeOf(typed) }))) as Record<'a' | 'b', string>;
    await changes.close(as(a), 'done');
    await refused(() => changes.reopen(as(a)), `bead ${b}, which waits for ${a}, is a gate that its run waits at`);
  });

  it('is not opened by what is a convoy either', async () => {
    const run = await runs.launch({ recipe: recipeOf(GATED) });
    const { a, b, 'gate-b': gate } = (await stepsOf(run)) as Record<'a' | 'b' | 'gate-b', string>;
    await changes.close(as(a), 'done');
    await changes.update(as(b, ANYBODY), { type: 'convoy' });
    await refused(
      () => convoys.add(fixture.city, b, { items: [gate] }, session('mayor')),
      `bead ${b} waits for ${gate} of run ${run.id}, whose order sessions leave as it is`,
    );
    const waits = `bead ${b} is a step of run ${run.id} that waits for others: sessions neither begin nor close it`;
    await refused(() => convoys.close(fixture.city, b, undefined, session('mayor')), waits);
    await changes.relabel(as(b), { addLabels: ['owned'] });
    await refused(() => convoys.land(fixture.city, b, { force: true }, session('mayor')), waits);
    expect(await runs.run(run.id)).toMatchObject({ status: 'waiting', gates: 1 });
  });

  // Guard: a step that is a convoy closes by itself only once it waits for nothing.
  it('is not passed by a convoy that closes by itself, which it does once the gate is open', async () => {
    const run = await runs.launch({ recipe: recipeOf(GATED) });
    const { a, b, c, 'gate-b': gate } = (await stepsOf(run)) as Record<'a' | 'b' | 'c' | 'gate-b', string>;
    await changes.close(as(a), 'done');
    await changes.update(as(b, ANYBODY), { type: 'convoy', labels: ['owned'] });
    const [tracked, child, other] = [await h.create(), await h.create({ parent: b }), await h.create()];
    await convoys.add(fixture.city, b, { items: [tracked, other] }, session('mayor'));
    await changes.relabel(as(b), { removeLabels: ['owned'] });
    for (const id of [child, tracked]) await changes.close(as(id), 'done');
    await convoys.remove(fixture.city, b, { items: [other] }, session('mayor'));
    expect((await h.bead(b)).status).toBe('open');
    expect(await runs.run(run.id)).toMatchObject({ status: 'waiting', gates: 1 });
    await changes.close(as(gate, ANYBODY), 'approved');
    expect(await h.bead(b)).toMatchObject({ status: 'closed', metadata: { close_reason: 'convoy autoclose: all children closed' } });
    await changes.close(as(c), 'done');
    expect(await runs.run(run.id)).toMatchObject({ status: 'completed' });
  });

  // Guard: a step that is a convoy goes on whichever way it comes to wait for nothing.
  it.each(['remove', 'change', 'delete'] as const)('is gone once somebody has taken it away: %s', async (way) => {
    const run = await runs.launch({ recipe: recipeOf(GATED) });
    const { a, b, 'gate-b': gate } = (await stepsOf(run)) as Record<'a' | 'b' | 'c' | 'gate-b', string>;
    await changes.close(as(a), 'done');
    await changes.update(as(b, ANYBODY), { type: 'convoy' });
    await changes.close(as(await h.create({ parent: b })), 'done');
    expect((await h.bead(b)).status).toBe('open');
    const { city } = fixture;
    if (way === 'remove') await dependencies.remove(city, b, gate, ANYBODY);
    else if (way === 'change') await dependencies.add(city, b, { depends_on_id: gate, type: 'related' }, ANYBODY);
    else await h.run((work) => work.remove(gate));
    expect((await h.bead(b)).status).toBe('closed');
  });

  // Guard: an edge that a session could not take away again it does not add.
  it('gets no edges from sessions, and its run no order', async () => {
    const run = await runs.launch({ recipe: recipeOf(GATED) });
    const { a, b, c, 'gate-b': gate } = (await stepsOf(run)) as Record<'a' | 'b' | 'c' | 'gate-b', string>;
    const outside = await h.create();
    const { city } = fixture;
    const order = (issue: string, target: string): string =>
      `bead ${issue} does not wait for ${target} of run ${run.id}, whose order sessions leave as it is`;
    const add = (issue: string, target: string, type: 'blocks' | 'related' | 'waits-for') => () =>
      dependencies.add(city, issue, { depends_on_id: target, type }, session('mayor'));
    await refused(add(outside, gate, 'blocks'), order(outside, gate));
    await refused(add(c, a, 'waits-for'), order(c, a));
    await add(c, a, 'related')();
    await refused(add(c, a, 'blocks'), order(c, a));
    await add(c, b, 'waits-for')();
    await add(outside, a, 'blocks')();
    await dependencies.remove(city, outside, a, session('mayor'));
    await dependencies.add(city, c, { depends_on_id: a, type: 'blocks' }, ANYBODY);
    await dependencies.remove(city, c, a, ANYBODY);
  });
});

describe('a step that its run decides', () => {
  const decided = (id: string, run: string): string =>
    `bead ${id} is a step of run ${run} that the run decides itself: sessions leave it as it is`;
  /** The control of the check or retry `a`, and the step of its first round. */
  const roundOf = async (run: { id: string }): Promise<{ control: string; attempt: string; b: string; c: string | undefined }> => {
    const { rows } = await sql<{ id: string; ref: string; made: boolean }>`
      select b.id, b.ref, s.made_by is not null as made from beads b join run_steps s on s.stream_id = b.stream_id and s.bead_id = b.id
      where b.run_id = ${run.id} order by b.id`.execute(fixture.db);
    const of = (end: string): string | undefined => rows.find(({ ref, made }) => !made && ref.endsWith(`.${end}`))?.id;
    return { control: of('a')!, attempt: rows.find(({ made }) => made)!.id, b: of('b')!, c: of('c') };
  };

  // Guard: no session passes a check without its script, however free its bead is.
  it('is changed by no session while the script of its check is asked for', async () => {
    const run = await runs.launch({ recipe: recipeOf(CHECKED), target: 'mayor' });
    const { control, attempt, b } = await roundOf(run);
    // Who has a step closes it with what has come of it.
    await begin(attempt, 'mayor');
    await changes.update(as(attempt), { status: 'closed', metadata: { 'gc.outcome': 'pass', 'gc.output_json': '{}' } });
    expect(await h.bead(control)).toMatchObject({ status: 'open', open_blockers: 0 });
    const no = decided(control, run.id);
    await refused(() => changes.close(as(control), 'done'), no);
    await refused(() => changes.update(as(control), { status: 'in_progress', assignee: 'mayor' }), no);
    await refused(() => changes.update(as(control), { metadata: { 'gc.outcome': 'pass' } }), no);
    await refused(() => changes.assign(as(control), 'mayor'), no);
    const outside = await h.create();
    await refused(() => dependencies.add(fixture.city, control, { depends_on_id: outside, type: 'blocks' }, session('mayor')), no);
    await refused(
      () => changes.close(as(run.id), 'over'),
      `run ${run.id} has yet to pass ${control}, which sessions neither open nor decide`,
    );
    // Nor by way of a convoy that a run works on, which ends its members.
    const { value: convoy } = await convoys.create(fixture.city, { title: 'All', items: [await h.create()] }, undefined, ANYBODY);
    await runs.launch({ recipe: recipeOf(GRAPH), target: 'mayor', source: convoy.id });
    await refused(
      () => convoys.add(fixture.city, convoy.id, { items: [control] }, session('mayor')),
      `a run works on convoy ${convoy.id}, and may end what is added to it: ${no}`,
    );
    expect((await h.bead(b)).status).toBe('open');
    await changes.close(as(control, ANYBODY), 'by a person');
    expect(await h.bead(b)).toMatchObject({ ready: true });
    const { rows } = await sql`select from run_checks`.execute(fixture.db);
    expect(rows).toEqual([]);
  });

  // Guard: no session overturns what a script has said.
  it('stays closed as it is', async () => {
    const run = await runs.launch({ recipe: recipeOf(CHECKED), target: 'mayor' });
    const { control, attempt, b, c } = await roundOf(run);
    await changes.close(as(attempt), 'done');
    await changes.update(as(control, ANYBODY), { status: 'closed', metadata: { 'gc.outcome': 'fail' } });
    const no = decided(control, run.id);
    await refused(() => changes.update(as(control), { metadata: { 'gc.outcome': 'pass' } }), no);
    await refused(() => changes.reopen(as(control)), no);
    await refused(() => changes.update(as(control), { status: 'open' }), no);
    await refused(() => changes.relabel(as(control), { addLabels: ['seen'] }), no);
    await changes.close(as(c!), 'done');
    expect(await runs.run(run.id)).toMatchObject({ status: 'failed' });
    expect((await h.bead(b)).metadata['gc.outcome']).toBe('skipped');
    // What has ended decides nothing any more.
    expect((await changes.relabel(as(control), { addLabels: ['seen'] })).bead.labels).toEqual(['seen']);
  });

  // Guard: nor does a run end it that a session has launched for it.
  it('is left open by a graph of a session that is for it', async () => {
    const run = await runs.launch({ recipe: recipeOf(CHECKED), target: 'mayor' });
    const { control, attempt } = await roundOf(run);
    const graph = await runs.launch({ recipe: recipeOf(GRAPH), target: 'mayor', source: control, askedBy: ['mayor'] });
    await changes.close(as(attempt), 'done');
    const { a, b } = (await stepsOf(graph)) as Record<'a' | 'b', string>;
    for (const id of [a, b]) await changes.close(as(id), 'done');
    expect(await runs.run(graph.id)).toMatchObject({ status: 'completed' });
    expect(await h.bead(control)).toMatchObject({ status: 'open', open_blockers: 0 });
  });

  it('is a retry as well, whose attempts keep what they were closed with', async () => {
    const run = await runs.launch({ recipe: recipeOf(RETRIED), target: 'mayor' });
    const { control, attempt } = await roundOf(run);
    await refused(() => changes.update(as(control), { metadata: { 'gc.outcome': 'pass' } }), decided(control, run.id));
    await changes.update(as(attempt), { status: 'closed', metadata: { 'gc.outcome': 'fail', 'gc.failure_class': 'transient' } });
    await refused(
      () => changes.update(as(attempt), { metadata: { 'gc.failure_class': 'hard' } }),
      `bead ${attempt} is a closed step of run ${run.id}, of which sessions change no outcome (gc.failure_class)`,
    );
  });
});

describe('a closed step', () => {
  // Guard: what a step was closed with decides how its run goes on.
  it('keeps its outcome, but for notes', async () => {
    const run = await runs.launch({ recipe: recipeOf(`${GRAPH}[[steps]]\nid = "c"\ntitle = "C"\n`), target: 'mayor' });
    const { a } = (await stepsOf(run)) as Record<'a', string>;
    await changes.update(as(a), { status: 'closed', metadata: { 'gc.outcome': 'fail' } });
    for (const key of ['gc.outcome', 'gc.output_json', 'gc.failure_reason'])
      await refused(
        () => changes.update(as(a), { metadata: { [key]: 'pass' } }),
        `bead ${a} is a closed step of run ${run.id}, of which sessions change no outcome (${key})`,
      );
    await changes.update(as(a), { metadata: { notes: 'see there', 'gc.outcome': 'fail' } });
    await changes.update(as(a, ANYBODY), { metadata: { 'gc.outcome': 'pass' } });
    expect((await h.bead(a)).metadata).toMatchObject({ notes: 'see there', 'gc.outcome': 'pass' });
    // Once its run is over, it decides nothing.
    await changes.update(as(run.id, ANYBODY), { status: 'closed', metadata: { 'gc.outcome': 'canceled' } });
    await changes.update(as(a), { metadata: { 'gc.outcome': 'skipped' } });
    await changes.update(as(run.id), { metadata: { 'gc.outcome': 'pass' } });
    expect(await runs.run(run.id)).toMatchObject({ status: 'canceled' });
  });

  // Guards: who says ahead what a step ends as, which somebody else or the service closes, decides how its run goes on.
  it('has no outcome that a session has said ahead, but of what it has under way', async () => {
    const run = await runs.launch({ recipe: recipeOf(`${GRAPH}[[steps]]\nid = "c"\ntitle = "C"\n`), target: 'mayor' });
    const { a, b, c } = (await stepsOf(run)) as Record<'a' | 'b' | 'c', string>;
    const ahead = (id: string, key: string): string =>
      `bead ${id} is an open step of run ${run.id}: sessions say that it has passed or failed as they close it, or of what they have under way (${key})`;
    for (const key of ['gc.outcome', 'gc.output_json', 'gc.failure_class'])
      await refused(() => changes.update(as(a), { metadata: { [key]: 'fail' } }), ahead(a, key));
    await refused(() => changes.update(as(b), { assignee: 'mayor', metadata: { 'gc.outcome': 'fail' } }), ahead(b, 'gc.outcome'));
    await changes.update(as(a), { metadata: { notes: 'see there' } });
    await begin(a, 'mayor');
    for (const outcome of ['skipped', 'canceled'])
      await refused(() => changes.update(as(a), { metadata: { 'gc.outcome': outcome } }), ahead(a, 'gc.outcome'));
    await changes.update(as(a), { metadata: { 'gc.outcome': 'fail', 'gc.output_json': '{}' } });
    await changes.update(as(a), { metadata: { 'gc.outcome': 'pass' } });
    await changes.close(as(a), 'done');
    // What it opens again it may say nothing of, but no other outcome.
    await refused(() => changes.update(as(a), { status: 'open', metadata: { 'gc.outcome': 'fail' } }), ahead(a, 'gc.outcome'));
    const { metadata } = (await changes.update(as(a), { status: 'open', metadata: { 'gc.outcome': '' } })).bead;
    expect([metadata['gc.outcome'], metadata['gc.output_json']]).toEqual([undefined, undefined]);
    // Nor does what it gives back say anything, to whoever ends it next.
    await begin(a, 'mayor');
    await changes.update(as(a), { metadata: { 'gc.outcome': 'fail', 'gc.failure_reason': 'no luck' } });
    await changes.update(as(a), { status: 'open' });
    await changes.close(as(a, ANYBODY), 'done');
    expect((await h.bead(a)).metadata).not.toHaveProperty(['gc.outcome']);
    expect((await h.bead(b)).status).toBe('open');
    // A person may, and the root is no step.
    await changes.update(as(c, ANYBODY), { metadata: { 'gc.outcome': 'skipped' } });
    await changes.update(as(run.id), { metadata: { 'gc.outcome': 'pass' } });
  });

  it.each(['a run that is for it', 'a convoy that it is'])('is not skipped ahead of its end by %s', async (by) => {
    const outer = await runs.launch({ recipe: recipeOf(`formula = "behind"\n${V2}${STEPS}${CHECK}`), target: 'mayor' });
    const { a, b } = (await stepsOf(outer)) as Record<'a' | 'b', string>;
    if (by.startsWith('a convoy')) await changes.update(as(a, ANYBODY), { type: 'convoy' });
    await refused(
      () => changes.update(as(a), { metadata: { 'gc.outcome': 'skipped' } }),
      `bead ${a} is an open step of run ${outer.id}: sessions say that it has passed or failed as they close it, or of what they have under way (gc.outcome)`,
    );
    if (by.startsWith('a convoy')) await changes.close(as(await h.create({ parent: a })), 'done');
    else {
      const graph = await runs.launch({ recipe: recipeOf(GRAPH), target: 'mayor', source: a, askedBy: ['mayor'] });
      const steps = (await stepsOf(graph)) as Record<'a' | 'b', string>;
      for (const id of [steps.a, steps.b]) await changes.close(as(id), 'done');
    }
    expect((await h.bead(a)).status).toBe('closed');
    expect((await h.bead(b)).status).toBe('open');
    expect(await runs.run(outer.id)).toMatchObject({ status: 'active' });
  });

  // Guards: nor does anybody open it again to close it otherwise, but whose it is.
  it('is opened again by nobody else who has not closed it', async () => {
    const run = await runs.launch({ recipe: recipeOf(`${GRAPH}[[steps]]\nid = "c"\ntitle = "C"\n`), target: 'mayor' });
    const { a, b } = (await stepsOf(run)) as Record<'a' | 'b', string>;
    await begin(a, 'mayor');
    await changes.update(as(a), { status: 'closed', metadata: { 'gc.outcome': 'fail' } });
    const leave = (id: string, outcome: string) =>
      `bead ${id} is a closed step of run ${run.id} that is not yours: sessions leave it with its outcome (${outcome})`;
    const deacon = session('deacon');
    await refused(() => changes.reopen(as(a, deacon)), leave(a, 'fail'));
    for (const status of ['open', 'in_progress'] as const)
      await refused(() => changes.update(as(a, deacon), { status, assignee: 'deacon' }), leave(a, 'fail'));
    await refused(() => changes.assign(as(a, deacon), 'deacon'), leave(a, 'fail'));
    const reason = (await h.bead(b)).metadata.close_reason!;
    await refused(() => changes.reopen(as(b, deacon)), leave(b, 'skipped'));
    await refused(
      () => changes.update(as(b), { metadata: { 'gc.outcome': 'pass' } }),
      `bead ${b} is a closed step of run ${run.id} (${reason}), of which sessions change no outcome (gc.outcome)`,
    );
    await changes.reopen(as(b, ANYBODY));
    expect((await changes.reopen(as(a))).bead.status).toBe('open');
  });
});

describe('a gate that its run has yet to come to', () => {
  const GATE = 'has yet to pass';

  // Guard: no session ends a run as completed before its gates, which would open those of other runs.
  it('is passed by no session that ends the run', async () => {
    const run = await runs.launch({ recipe: recipeOf(GATED) });
    const { 'gate-b': gate } = (await stepsOf(run)) as Record<'gate-b', string>;
    const outer = await runs.launch({
      recipe: recipeOf(`formula = "outer"\n[[steps]]\nid = "x"\ntitle = "X"\ngate = { type = "run", id = "${run.id}" }\n`),
    });
    const passes = `run ${run.id} ${GATE} ${gate}, which sessions neither open nor decide`;
    await refused(() => changes.close(as(run.id), 'over'), passes);
    await begin(run.id, 'mayor');
    await refused(() => changes.update(as(run.id), { status: 'closed', metadata: { 'gc.outcome': 'pass' } }), passes);
    expect(await runs.run(outer.id)).toMatchObject({ status: 'waiting' });
    // What it ends otherwise has passed nothing.
    const other = await runs.launch({ recipe: recipeOf(GATED) });
    await changes.update(as(other.id), { status: 'closed', metadata: { 'gc.outcome': 'canceled' } });
    expect(await runs.run(other.id)).toMatchObject({ status: 'canceled' });
    await changes.close(as(run.id, ANYBODY), 'over');
    expect(await runs.run(outer.id)).toMatchObject({ status: 'active' });
  });

  it('is skipped with no step of his own, and is open again with a step for which it was', async () => {
    const text = `formula = "skips"\n${V2}[[steps]]\nid = "a"\ntitle = "A"\n[[steps]]\nid = "m"\ntitle = "M"\nneeds = ["a"]\n[[steps]]\nid = "b"\ntitle = "B"\nneeds = ["m"]\n${CHECK}[[steps]]\nid = "o"\ntitle = "O"\n`;
    const run = await runs.launch({ recipe: recipeOf(text), target: 'mayor' });
    const { a, m, b } = (await stepsOf(run)) as Record<'a' | 'm' | 'b', string>;
    await begin(a, 'mayor');
    for (const outcome of ['skipped', 'canceled'])
      await refused(
        () => changes.update(as(a), { status: 'closed', metadata: { 'gc.outcome': outcome } }),
        `bead ${a} is a step of run ${run.id}, which decides itself what is skipped or canceled: sessions end it as passed or failed`,
      );
    await changes.update(as(a), { status: 'closed', metadata: { 'gc.outcome': 'fail' } });
    expect(await h.bead(b)).toMatchObject({ status: 'closed', metadata: { 'gc.outcome': 'skipped' } });
    expect((await changes.reopen(as(a))).bead).toMatchObject({
      status: 'open',
      metadata: expect.not.objectContaining({ 'gc.outcome': 'fail' }) as unknown,
    });
    expect(await runs.run(run.id)).toMatchObject({ status: 'pending', closed: 0 });
    for (const id of [m, b]) expect(await h.bead(id)).toMatchObject({ status: 'open', open_blockers: 1 });
    // Whoever closes them without a word says that they have passed.
    await begin(a, 'mayor');
    await changes.update(as(a), { status: 'closed' });
    await changes.update(as(m, ANYBODY), { status: 'closed' });
    expect((await h.bead(b)).status).toBe('open');
    expect(Object.keys(await stepsOf(run))).toContain('1');
  });

  // Guard: whoever has thousands wait for a step makes nobody wait who opens it again.
  it('is looked for among the steps of the run, and not among all that waits for one of them', async () => {
    const run = await runs.launch({
      recipe: recipeOf(`formula = "behind"\n${V2}${STEPS}${CHECK}[[steps]]\nid = "c"\ntitle = "C"\n`),
      target: 'mayor',
    });
    const { a, b } = (await stepsOf(run)) as Record<'a' | 'b', string>;
    const { streamId } = fixture.city;
    await sql`insert into beads (stream_id, id, rig, title) select ${streamId}, 'al-x' || n, '', 'x' from generate_series(1, 1000) n`.execute(
      fixture.db,
    );
    await sql`
      insert into bead_dependencies (stream_id, issue_id, depends_on_id, type)
      select ${streamId}, 'al-x' || n, t, 'blocks' from generate_series(1, 1000) n, unnest(array[${a}, ${b}]) t`.execute(fixture.db);
    await sql`analyze beads, bead_dependencies`.execute(fixture.db);
    const found: string[][] = [];
    const look = async (db: unknown): Promise<void> => {
      found.push([...skippedBehind({ id: a, ref: 'behind.a' }, await new EdgesRepository().leftOut(db as Tx, streamId, run.id)).ids]);
    };
    expect(rowsRead(await plansOf(fixture.pool, look, 'only'), 'bead_dependencies')).toBeLessThan(50);
    await changes.update(as(a), { status: 'closed', metadata: { 'gc.outcome': 'fail' } });
    expect(rowsRead(await plansOf(fixture.pool, look, 'only'), 'bead_dependencies')).toBeLessThan(50);
    expect(found).toEqual([[], [b]]);
  });

  // Guard: what has not passed its gates is not completed.
  it('is not passed by the end of the bead that its run is for', async () => {
    const source = await h.create();
    const run = await runs.launch({ recipe: recipeOf(GATED), source });
    const outer = await runs.launch({
      recipe: recipeOf(`formula = "outer"\n[[steps]]\nid = "x"\ntitle = "X"\ngate = { type = "run", id = "${run.id}" }\n`),
    });
    expect((await changes.close(as(source), 'done')).bead.status).toBe('closed');
    expect(await runs.run(run.id)).toMatchObject({ status: 'skipped' });
    expect(await h.bead(run.id)).toMatchObject({ status: 'closed', metadata: { 'gc.outcome': 'skipped' } });
    expect(await runs.run(outer.id)).toMatchObject({ status: 'failed' });
  });
});

describe('what is part of a run', () => {
  const part = (id: string, run: string): string => `bead ${id} is part of run ${run}, of which sessions change neither type nor parent`;

  // Guard: a session makes nothing of a run a convoy, which would close by itself, nor a gate, which it could not undo.
  it.each([TREE, GRAPH])('stays what it is: %#', async (text) => {
    const run = await runs.launch({ recipe: recipeOf(text), target: 'mayor' });
    const { a, b } = (await stepsOf(run)) as Record<'a' | 'b', string>;
    for (const id of [a, b, run.id])
      for (const type of ['convoy', 'gate']) await refused(() => changes.update(as(id), { type }), part(id, run.id));
    expect((await changes.update(as(b), { title: 'B!', priority: 1 })).bead.title).toBe('B!');
    expect((await changes.update(as(b, ANYBODY), { type: 'bug' })).bead.issue_type).toBe('bug');
    expect((await changes.update(as(b), { type: 'bug', description: 'as it is' })).bead.issue_type).toBe('bug');
  });

  // Guard: a session takes no part away from a whole, which would be done without it.
  it('stays where it is', async () => {
    const run = await runs.launch({ recipe: recipeOf(WHOLE) });
    const { w, p1, p2 } = (await stepsOf(run)) as Record<'w' | 'p1' | 'p2', string>;
    for (const parent of ['', run.id]) await refused(() => changes.update(as(p2), { parent }), part(p2, run.id));
    await changes.update(as(w, ANYBODY), { type: 'convoy' });
    await refused(() => convoys.remove(fixture.city, w, { items: [p2] }, session('mayor')), part(p2, run.id));
    await changes.close(as(p1), 'done');
    expect((await h.bead(w)).status).toBe('open');
    await changes.close(as(p2), 'done');
    expect(await runs.run(run.id)).toMatchObject({ status: 'completed' });
  });

  // Guard: what a run ends with is made no convoy.
  it.each([TREE, WISP])('does not end by way of a convoy that it is for: %#', async (text) => {
    const source = await h.create();
    const run = await runs.launch({ recipe: recipeOf(text), source });
    const live = `bead ${source} has a run that goes on: sessions make no convoy of it, which would close by itself`;
    await refused(() => changes.update(as(source), { type: 'convoy' }), live);
    expect((await changes.update(as(source), { type: 'bug', parent: await h.create() })).bead.issue_type).toBe('bug');
    expect(await runs.run(run.id)).toMatchObject({ outcome: null });
    await changes.close(as(source), 'done');
    expect((await changes.update(as(source), { type: 'convoy' })).bead.issue_type).toBe('convoy');
  });
});

describe('a step that another session has under way', () => {
  // Guard: a session ends no step of others with their run.
  it.each([TREE, GRAPH])('does not end with the root that a session closes: %#', async (text) => {
    const run = await runs.launch({ recipe: recipeOf(text), target: 'mayor' });
    const { a } = await stepsOf(run);
    await begin(a!, 'deacon');
    const held = `bead ${a} is being worked on by deacon`;
    for (const name of ['mayor', run.id]) await refused(() => changes.close(as(run.id, session(name)), 'over'), held);
    await refused(() => changes.update(as(run.id), { status: 'closed', assignee: 'mayor' }), held);
    await changes.update(as(run.id, ANYBODY), { type: 'convoy' });
    await refused(() => convoys.close(fixture.city, run.id, undefined, session('mayor')), held);
    expect(await runs.run(run.id)).toMatchObject({ status: 'active', closed: 0 });
    await changes.close(as(run.id, session('deacon')), 'over');
    expect(await runs.run(run.id)).toMatchObject({ status: 'completed' });
  });

  it('does not end with the bead that the run is for', async () => {
    const source = await h.create();
    const run = await runs.launch({ recipe: recipeOf(TREE), source });
    const { a } = await stepsOf(run);
    await begin(a!, 'deacon');
    // What the bead says of its runs anybody may write.
    await changes.update(as(source), { metadata: { molecule_id: '' } });
    const closes = { status: 'closed', metadata: { molecule_id: 'al-900' } } as const;
    await refused(() => changes.update(as(source), closes), `bead ${a} is being worked on by deacon`);
    await changes.update(as(source, ANYBODY), closes);
    expect(await runs.run(run.id)).toMatchObject({ status: 'completed' });
    const of = await h.create();
    const wisp = await runs.launch({ recipe: recipeOf(WISP), source: of });
    await begin(wisp.id, 'deacon');
    await refused(() => changes.close(as(of), 'over'), `bead ${wisp.id} is being worked on by deacon`);
    expect((await changes.close(as(of, session('deacon')), 'done')).bead.status).toBe('closed');
  });

  // Guard: a step that somebody has begun and left keeps nobody from ending his own work.
  it('does end with the bead that the run is for, where the session has that itself', async () => {
    const source = await h.create();
    const run = await runs.launch({ recipe: recipeOf(TREE), source });
    const { a: begun } = await stepsOf(run);
    await begin(begun!, 'deacon');
    await h.change(source, { assignee: 'mayor' });
    const held = `bead ${begun} is being worked on by deacon`;
    await refused(() => changes.close(as(source), 'done'), held);
    await begin(source, 'mayor');
    await refused(() => changes.close(as(source, session('witness')), 'over'), `bead ${source} is being worked on by mayor`);
    expect((await changes.close(as(source), 'done')).bead.status).toBe('closed');
    expect(await runs.run(run.id)).toMatchObject({ status: 'completed' });
    // A gate that the run is at keeps it, whoever ends what it is for.
    const gated = await h.create();
    const waiting = await runs.launch({ recipe: recipeOf(GATED), source: gated });
    await changes.close(as((await stepsOf(waiting)).a!), 'done');
    await begin(gated, 'mayor');
    expect((await changes.close(as(gated), 'done')).bead.status).toBe('closed');
    expect(await runs.run(waiting.id)).toMatchObject({ status: 'waiting', gates: 1 });
    // Whoever has the root of a run does not have its steps.
    const other = await runs.launch({ recipe: recipeOf(TREE) });
    const { a } = await stepsOf(other);
    await begin(a!, 'deacon');
    await begin(other.id, 'mayor');
    await refused(() => changes.close(as(other.id), 'done'), `bead ${a} is being worked on by deacon`);
  });

  it('is no matter for a bead whose end does not end the run', async () => {
    const source = await h.create();
    const run = await runs.launch({ recipe: recipeOf(GRAPH), target: 'mayor', source });
    await begin((await stepsOf(run)).a!, 'deacon');
    expect((await changes.close(as(source), 'over')).bead.status).toBe('closed');
    expect(await runs.run(run.id)).toMatchObject({ status: 'active' });
  });
});

describe('what another session has under way', () => {
  // Guard: a session blocks nothing that others have under way, by opening a bead again.
  it.each([300, 1])('is not blocked again by what a session opens, with %i at once', async (few) => {
    fixture.work.limits = { few, step: few };
    const [t, x, y, z] = [await h.create(), await h.create(), await h.create(), await h.create()] as const;
    await h.edge(x, t);
    await h.edge(y, t);
    await h.close(t);
    await begin(x, 'deacon');
    // It may make it wait for what is closed, which blocks nobody.
    await dependencies.add(fixture.city, x, { depends_on_id: z, type: 'related' }, session('mayor'));
    await h.close(z);
    await dependencies.add(fixture.city, x, { depends_on_id: z, type: 'blocks' }, session('mayor'));
    for (const id of [t, z]) {
      const held = `bead ${x}, which waits for ${id}, is being worked on by deacon`;
      await refused(() => changes.reopen(as(id)), held);
      await refused(() => changes.update(as(id), { status: 'open' }), held);
    }
    expect((await changes.reopen(as(z, session('deacon')))).bead.status).toBe('open');
    expect((await changes.reopen(as(t, ANYBODY))).bead.status).toBe('open');
    await h.close(t);
    await h.close(z);
    await h.close(x);
    expect((await changes.reopen(as(t))).bead.status).toBe('open');
  });
});

describe('a convoy with a run in which another session has something under way', () => {
  const closes = (convoy: string, id: string): string =>
    `convoy ${convoy} would be completed by it: bead ${id} is being worked on by deacon`;

  // Guards: a session closes no convoy by what it takes out of it, or away from it, that it may not close itself.
  it('is completed by no session', async () => {
    const [open, done, child, elsewhere] = [await h.create(), await h.create(), await h.create(), await h.create()];
    const { city } = fixture;
    const convoy = (await convoys.create(city, { title: 'All', items: [open, done] }, undefined, ANYBODY)).value.id;
    const run = await runs.launch({ recipe: recipeOf(TREE), source: convoy });
    const { a } = (await stepsOf(run)) as Record<'a', string>;
    await begin(a, 'deacon');
    await changes.close(as(done), 'done');
    await refused(() => convoys.remove(city, convoy, { items: [open] }, session('mayor')), closes(convoy, a));
    await changes.update(as(child), { parent: convoy });
    await convoys.remove(city, convoy, { items: [open] }, session('mayor'));
    await refused(() => changes.update(as(child), { parent: elsewhere }), closes(convoy, a));
    await refused(() => convoys.remove(city, convoy, { items: [child] }, session('mayor')), closes(convoy, a));
    await changes.relabel(as(convoy), { addLabels: ['owned'] });
    await changes.update(as(child), { parent: elsewhere });
    await refused(() => changes.relabel(as(convoy), { removeLabels: ['owned'] }), closes(convoy, a));
    await refused(() => changes.update(as(convoy), { remove_labels: ['owned'] }), closes(convoy, a));
    expect(await runs.run(run.id)).toMatchObject({ outcome: null });
    await changes.relabel(as(convoy, session('deacon')), { removeLabels: ['owned'] });
    expect((await h.bead(convoy)).status).toBe('closed');
  });

  it('is a step that no session completes by taking away what it waits for', async () => {
    const outer = await runs.launch({ recipe: recipeOf(TREE) });
    const { a: step } = (await stepsOf(outer)) as Record<'a', string>;
    await changes.update(as(step, ANYBODY), { type: 'convoy' });
    const run = await runs.launch({ recipe: recipeOf(WISP), source: step });
    await begin(run.id, 'deacon');
    const blocker = await h.create();
    const { city } = fixture;
    await dependencies.add(city, step, { depends_on_id: blocker, type: 'blocks' }, session('mayor'));
    await changes.close(as(await h.create({ parent: step })), 'done');
    await refused(() => dependencies.remove(city, step, blocker, session('mayor')), closes(step, run.id));
    await refused(() => dependencies.add(city, step, { depends_on_id: blocker, type: 'related' }, session('mayor')), closes(step, run.id));
    await dependencies.remove(city, step, blocker, ANYBODY);
    expect((await h.bead(step)).status).toBe('closed');
  });
});

// Guard: a session closes nothing that another one has under way, convoys either.
it('closes no convoy that another session has under way', async () => {
  const { city } = fixture;
  const done = await h.create();
  const open = await h.create();
  const convoy = (await convoys.create(city, { title: 'All', items: [done, open], owned: true }, undefined, ANYBODY)).value.id;
  await changes.close(as(done), 'done');
  await begin(convoy, 'deacon');
  const held = `bead ${convoy} is being worked on by deacon`;
  await refused(() => convoys.close(city, convoy, undefined, session('mayor')), held);
  await refused(() => convoys.land(city, convoy, { force: true }, session('mayor')), held);
  await changes.relabel(as(convoy), { removeLabels: ['owned'] });
  await refused(
    () => convoys.remove(city, convoy, { items: [open] }, session('mayor')),
    `convoy ${convoy} would be completed by it: ${held}`,
  );
  await convoys.close(city, convoy, undefined, session('deacon'));
  expect((await h.bead(convoy)).status).toBe('closed');
});

// Guard: what no session may take away, none sets.
it('makes no convoy with a hold of a drain', async () => {
  const hold = 'hold:drain:al-900';
  const make = (caller: Principal, labels: string[]) => convoys.create(fixture.city, { title: 'All', labels }, undefined, caller);
  await refused(() => make(session('mayor'), ['seen', hold]), `only a drain holds beads for itself: sessions set no ${hold}`);
  expect((await make(session('mayor'), ['hold:x'])).value.labels).toEqual(['hold:x']);
  expect((await make(ANYBODY, [hold])).value.labels).toEqual([hold]);
});
