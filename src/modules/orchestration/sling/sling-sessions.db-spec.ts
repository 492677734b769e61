import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { ANYBODY, type Principal } from '../../../contract/principal.js';
import { Idempotency } from '../../../platform/idempotency/idempotency.js';
import { IdempotencyRepository } from '../../../platform/idempotency/idempotency.repository.js';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import { ConvoysRepository } from '../../work/convoys/convoys.repository.js';
import { ConvoysService } from '../../work/convoys/convoys.service.js';
import { launches, recipeOf, type Launches } from '../runs/testing/launches.js';
import { hands, slings, type Slings } from './testing/slings.js';

/** A session works as `mayor` and launches graphs; `web/polecat` is somebody else. */
let fixture: WorkFixture;
let runs: Launches;
let h: ReturnType<typeof hands>;
let a: Slings;
const HEAD = '[requires]\nformula_compiler = ">=2.0.0"\n[[steps]]\nid = "s"\ntitle = "S"\n';
const GRAPH = `formula = "graph"\n${HEAD}`;
const DRAIN = `formula = "drain"\n${HEAD}drain = { formula = "item", member_access = "exclusive" }\n`;
/** Its drain is due once its first step is done. */
const LATE = `formula = "late"\n${HEAD}[[steps]]\nid = "all"\ntitle = "All"\nneeds = ["s"]\ndrain = { formula = "item", member_access = "exclusive" }\n`;
const ITEM = `formula = "item"\n${HEAD.replace('"S"', '"Weigh {{issue}}"')}`;
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
const target = 'web/witness';
beforeEach(async () => {
  fixture = await workFixture();
  runs = launches(fixture);
  h = hands(fixture);
  a = slings(fixture, fixture.work, { texts: { graph: GRAPH, drain: DRAIN, late: LATE, item: ITEM } });
});
afterEach(() => fixture.close());

const session = (): Principal => ({
  ...{ actor: 'mayor', keyId: undefined, scope: 'read', rights: ['operate'], cities: ['alpha'] },
  session: { id: 'al-7', pk: 7, city: 'alpha', streamId: fixture.city.streamId, agentName: 'mayor', names: ['al-7', 'mayor'] },
});
const launched = async (formula: string, source: string, caller?: Principal): Promise<string> =>
  (await a.sling({ target, formula, attached_bead_id: source }, undefined, caller)).value.workflow_id!;
/** Closes the step of a run that agents do. */
async function end(run: string): Promise<void> {
  const { rows } = await sql<{ id: string }>`
    select id from beads where run_id = ${run} and id <> ${run} and issue_type <> 'step' and status <> 'closed'`.execute(fixture.db);
  expect(rows).toHaveLength(1);
  await h.close(rows[0]!.id);
}
/** The beads of a run at its gate, behind which `b` waits. */
async function gated(): Promise<{ run: string; a: string; b: string; gate: string }> {
  const { id: run } = await runs.launch({ recipe: recipeOf(GATED) });
  const { rows } = await sql<{ id: string; ref: string }>`select id, ref from beads where run_id = ${run} and id <> ${run}`.execute(
    fixture.db,
  );
  const [a, b, gate] = ['a', 'b', 'gate-b'].map((ref) => rows.find((row) => row.ref.split('.').at(-1) === ref)!.id) as [
    string,
    string,
    string,
  ];
  return { run, a, b, gate };
}
const convoyOf = (...members: string[]): Promise<string> =>
  h.run(async (work) => {
    const { id } = await work.create({ rig: '', title: 'All', type: 'convoy' });
    await work.putEdges(id, members, 'tracks');
    return id;
  });

describe('a convoy that a run of a person works on', () => {
  // Guards: a session has no gate, and no step that waits, ended by a drain that a person has launched and that is not due yet.
  it('gets no gate of a run and no step that waits from a session', async () => {
    const convoys = new ConvoysService(new ConvoysRepository(fixture.db), fixture.work, new Idempotency(new IdempotencyRepository()));
    const add = (convoy: string, item: string, caller: Principal = session()) =>
      convoys.add(fixture.city, convoy, { items: [item] }, caller);
    const { run, a: first, b, gate } = await gated();
    await h.close(first);
    const [member, source] = [await h.create(), await h.create()];
    const convoy = await convoyOf(member);
    // What nothing works on follows what it likes.
    for (const item of [gate, b]) await add(await convoyOf(member), item);
    const drain = await launched('late', convoy);
    const input = (await runs.run(await launched('late', source)))!.convoy_id!;
    for (const on of [convoy, input])
      for (const [item, why] of [
        [gate, `bead ${gate} is a gate of run ${run}, which sessions leave to whoever opens it`],
        [b, `bead ${b} is a step of run ${run} that waits for others: sessions neither begin nor close it`],
      ] as const)
        await expect(add(on, item)).rejects.toMatchObject({
          ...{ problem: 'forbidden', detail: `forbidden: a run works on convoy ${on}, and may end what is added to it: ${why}` },
        });
    const free = await h.create();
    await add(convoy, free);
    await add(input, gate, ANYBODY);
    const { rows } = await sql<{ id: string }>`select id from beads where run_id = ${drain} and ref like '%.s'`.execute(fixture.db);
    await h.close(rows[0]!.id);
    for (const id of [member, free]) expect((await h.bead(id)).labels).toHaveLength(1);
    expect(await h.bead(gate)).toMatchObject({ status: 'open', labels: [] });
    await h.close(drain);
    await add(convoy, gate);
  });
});

describe('a graph that a session launches', () => {
  // Guards: a session ends no gate, and no step that waits, by way of a run of its own.
  it('is for no gate of a run, and for no step that waits, as one of a person may be', async () => {
    const { run, a: first, b, gate } = await gated();
    await h.close(first);
    const why = [
      [gate, `bead ${gate} is a gate of run ${run}, which sessions leave to whoever opens it`],
      [b, `bead ${b} is a step of run ${run} that waits for others: sessions neither begin nor close it`],
    ] as const;
    for (const [bead, detail] of why)
      await expect(launched('graph', bead, session())).rejects.toMatchObject({ problem: 'forbidden', detail: `forbidden: ${detail}` });
    const { value } = await a.batch({ target, formula: 'graph', convoy: await convoyOf(gate, b) }, undefined, session());
    expect(value.results).toMatchObject(why.map(([bead, detail]) => ({ bead, status: 'refused', detail: `forbidden: ${detail}` })));
    await end(await launched('graph', gate));
    expect((await h.bead(gate)).status).toBe('closed');
    await end(await launched('graph', b, session()));
    expect((await h.bead(b)).status).toBe('closed');
  });

  // Guard: what comes to wait while the run goes on goes on waiting after it.
  it('leaves the step that it is for where that waits by its end, with its queue', async () => {
    const { a: step } = await gated();
    await h.change(step, { metadata: { 'gc.routed_to': target } });
    const run = await launched('graph', step, session());
    await h.edge(step, await h.create());
    await end(run);
    expect(await runs.run(run)).toMatchObject({ status: 'completed' });
    expect(await h.bead(step)).toMatchObject({ status: 'open', metadata: { 'gc.routed_to': target } });
  });
});

describe('the end of a graph that a session has launched', () => {
  // Guard: a session closes nothing of others by the end of its run.
  it('leaves its bead to somebody who has taken it meanwhile, with its queue', async () => {
    const source = await h.create({}, { metadata: { 'gc.routed_to': target } });
    const run = await launched('graph', source, session());
    await h.change(source, { status: 'in_progress', assignee: 'web/polecat' });
    await end(run);
    expect(await runs.run(run)).toMatchObject({ status: 'completed', asked_by: ['al-7', 'mayor'] });
    expect(await h.bead(source)).toMatchObject({ status: 'in_progress', assignee: 'web/polecat', metadata: { 'gc.routed_to': target } });
  });

  it('closes its bead where that is nobody’s, or its own, or a person has launched it', async () => {
    for (const [assignee, caller] of [
      [null, session()],
      ['mayor', session()],
      ['web/polecat', undefined],
    ] as const) {
      const source = await h.create();
      const run = await launched('graph', source, caller);
      await h.change(source, { assignee });
      await end(run);
      expect(await h.bead(source)).toMatchObject({ status: 'closed' });
    }
  });
});

describe('an exclusive drain that a session has launched', () => {
  // Guard: a session parks nothing that is assigned to others.
  it('takes no member that is assigned to somebody else, as one of a person may', async () => {
    const [others, own] = [await h.create({}, { assignee: 'web/polecat' }), await h.create({}, { assignee: 'mayor' })];
    const refused = await launched('drain', await convoyOf(others), session());
    expect(await runs.run(refused)).toMatchObject({ status: 'failed' });
    const { rows } = await sql<{ metadata: object }>`select metadata from beads where run_id = ${refused} and id <> ${refused}`.execute(
      fixture.db,
    );
    const why = { 'gc.failure_reason': 'drain_reservation', close_reason: `${others} is assigned to web/polecat` };
    expect(rows).toMatchObject([{ metadata: why }]);
    expect(await h.bead(others)).toMatchObject({ status: 'open', labels: [] });
    for (const [member, caller] of [
      [own, session()],
      [others, undefined],
    ] as const) {
      const run = await launched('drain', await convoyOf(member), caller);
      expect((await h.bead(member)).labels).toHaveLength(1);
      await end(run);
      expect(await h.bead(member)).toMatchObject({ status: 'closed', labels: [] });
    }
  });

  it('lets go of a member that somebody has taken meanwhile', async () => {
    const member = await h.create();
    const run = await launched('drain', await convoyOf(member), session());
    await h.change(member, { status: 'in_progress', assignee: 'web/polecat' });
    await end(run);
    expect(await runs.run(run)).toMatchObject({ status: 'completed' });
    expect(await h.bead(member)).toMatchObject({ status: 'in_progress', assignee: 'web/polecat', labels: [] });
  });

  // Guard: a session ends no gate, and no step that waits, by draining a convoy with it.
  it('takes no gate of a run and no step that waits, as one of a person may', async () => {
    const { run, a: first, b, gate } = await gated();
    await h.close(first);
    for (const [member, why] of [
      [gate, `bead ${gate} is a gate of run ${run}, which sessions leave to whoever opens it`],
      [b, `bead ${b} is a step of run ${run} that waits for others: sessions neither begin nor close it`],
    ] as const) {
      const refused = await launched('drain', await convoyOf(member), session());
      const { rows } = await sql<{ metadata: object }>`select metadata from beads where run_id = ${refused} and id <> ${refused}`.execute(
        fixture.db,
      );
      expect(rows).toMatchObject([{ metadata: { 'gc.failure_reason': 'drain_reservation', close_reason: why } }]);
      expect(await h.bead(member)).toMatchObject({ status: 'open', labels: [] });
    }
    await end(await launched('drain', await convoyOf(gate)));
    expect((await h.bead(gate)).status).toBe('closed');
  });

  it('lets go of a step that waits by the end of its unit', async () => {
    const { a: step } = await gated();
    const run = await launched('drain', await convoyOf(step), session());
    await h.edge(step, await h.create());
    await end(run);
    expect(await runs.run(run)).toMatchObject({ status: 'completed' });
    expect(await h.bead(step)).toMatchObject({ status: 'open', labels: [] });
  });
});
