import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import type { ProblemError } from '../../../../contract/problems.js';
import { eventually } from '../../../../../test/support/sse.js';
import { workFixture, type WorkFixture } from '../../../../../test/support/work.js';
import { hands, slings, type Slings } from '../../sling/testing/slings.js';
import type { Work } from '../../../work/work/work.js';
import { launches, recipeOf, type Launches } from '../testing/launches.js';
import { aheadOf } from './launch-ahead.service.js';
import type { LaunchOrder } from './launch.service.js';

/** Launches that are long here, of one process, and another one beside it. */
let fixture: WorkFixture;
let runs: Launches;
let beside: Launches;
let long: Slings;
let h: ReturnType<typeof hands>;

const TREE = `formula = "tree"
[[steps]]
id = "a"
title = "A"
assignee = "deacon"
[[steps]]
id = "b"
title = "B"
needs = ["a"]
[[steps]]
id = "c"
title = "C"
needs = ["a", "b"]
`;
const PLAIN = TREE.replace('"tree"', '"graph"\n[requires]\nformula_compiler = ">=2.0.0"');
const GRAPH = PLAIN.replace('"B"', '"B of {{convoy_id}}"');
const GATED = `formula = "gated"
[requires]
formula_compiler = ">=2.0.0"
[[steps]]
id = "a"
title = "A"
gate = { type = "timer", timeout = "1h" }
on_complete = { for_each = "output.files", bond = "look", vars = { path = "{item}" } }
[[steps]]
id = "d"
title = "D"
loop = { until = "step.output.ok == true", max = 3, body = [{ id = "b", title = "B" }] }
`;
const LOOK = `formula = "look"\ntype = "expansion"\n[requires]\nformula_compiler = ">=2.0.0"\n[vars]\npath = { required = true }
[[template]]
id = "{target}.look"
title = "Look at {path}"
`;
const RECIPES = { tree: recipeOf(TREE), graph: recipeOf(GRAPH), plain: recipeOf(PLAIN), gated: recipeOf(GATED, {}, { look: LOOK }) };

beforeEach(async () => {
  fixture = await workFixture();
  fixture.work.limits = { few: 2, step: 2 };
  runs = launches(fixture);
  const another = fixture.another();
  another.limits = { few: 2, step: 2 };
  beside = launches(fixture, another);
  long = slings(fixture, fixture.work, { texts: { tree: TREE, graph: GRAPH } });
  h = hands(fixture);
});
afterEach(() => fixture.close());

const ids = async (): Promise<string[]> =>
  (await sql<{ id: string }>`select id from beads order by length(id), id`.execute(fixture.db)).rows.map((row) => row.id);
const drafts = async (): Promise<number> => (await sql`select from event_drafts`.execute(fixture.db)).rows.length;
const last = async (): Promise<number> =>
  Number((await sql<{ last: string }>`select last from bead_counters where prefix = 'al'`.execute(fixture.db)).rows[0]?.last ?? 0);
/** What happens once the ids of the next launch are reserved, before anything of it is written: after so many transactions. */
function meanwhile(act: () => Promise<unknown>, transactions = 1): void {
  let left = transactions;
  fixture.failpoints.arm('tx.after_commit', async () => {
    if (--left === 0) await act();
  });
}
/** Everything that a fixture has, without the times and the ids that nobody has. */
async function told(of: WorkFixture): Promise<unknown> {
  const { rows } = await sql<{ it: unknown }>`
    select jsonb_build_array((select jsonb_agg(to_jsonb(b) order by length(b.id), b.id) from beads b), (select jsonb_agg(to_jsonb(r)) from runs r),
      (select jsonb_agg(to_jsonb(s) order by s.bead_id) from run_steps s), (select jsonb_agg(to_jsonb(c) order by c.bead_id) from run_controls c),
      (select jsonb_agg(to_jsonb(d) order by d.issue_id, d.depends_on_id) from bead_dependencies d)) as it`.execute(of.db);
  const text = JSON.stringify([rows[0]!.it, await of.events()]);
  return JSON.parse(text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)/g, 'then'));
}

describe('a long launch', () => {
  it.each(['tree', 'graph', 'gated'] as const)('writes and tells what a short one does, in the same order: %s', async (name) => {
    const other = await workFixture();
    try {
      const short = launches(other);
      for (const [all, work] of [
        [runs, h],
        [short, hands(other)],
      ] as const) {
        await work.create({}, { priority: 3 });
        const order = { recipe: RECIPES[name], target: 'mayor', labels: ['l'], metadata: { k: 'v' }, source: 'al-1' };
        expect(await all.launch(order)).toMatchObject({ created: true });
      }
      expect(await told(fixture)).toEqual(await told(other));
      expect(await drafts()).toBe(0);
    } finally {
      await other.close();
    }
  });

  it('keeps no other writer of the city waiting while it writes its beads', async () => {
    const held = Promise.withResolvers<void>();
    const made: string[] = [];
    let writing: Promise<unknown> | undefined;
    meanwhile(async () => {
      const begun = Promise.withResolvers<void>();
      writing = beside.work.run(fixture.city, 'beside', async (work) => {
        begun.resolve();
        await held.promise;
        made.push((await work.create({ rig: '', title: 'beside' })).id);
      });
      await begun.promise;
    });
    const launching = runs.launch({ recipe: RECIPES.plain, target: 'mayor' });
    // Its beads are written: it waits for the city.
    await eventually(async () => {
      const waiting = sql`select from pg_locks where locktype = 'advisory' and classid = 2 and not granted`;
      return (await waiting.execute(fixture.db)).rows.length === 1;
    });
    expect(await ids()).toEqual([]);
    held.resolve();
    await writing;
    // The launch goes on at once: that this came before it, its events say.
    const { id } = await launching;
    expect([id, ...made]).toEqual(['al-1', 'al-5']);
    expect((await fixture.events()).map(({ seq, type, subject }) => `${seq} ${type} ${subject}`)).toEqual([
      '1 bead.created al-5',
      ...['al-1', 'al-2', 'al-3', 'al-4'].map((bead, n) => `${n + 2} bead.created ${bead}`),
      '6 execution.work_associated al-1',
      ...['al-2', 'al-3', 'al-4'].map((bead, n) => `${n + 7} execution.step_defined ${bead}`),
    ]);
  });

  it('is made anew by what has become of its bead meanwhile', async () => {
    const source = await h.create({ rig: 'web' });
    meanwhile(() => beside.work.run(fixture.city, 'beside', (work) => work.update(source, { priority: 0 })));
    const run = await runs.launch({ recipe: RECIPES.graph, target: 'mayor', source });
    expect(await h.bead(run.id)).toMatchObject({ priority: 0 });
    // Those that nobody has seen are gone, with the convoy that was meant for them used all the same.
    expect(await ids()).toEqual(['web-1', 'web-2', 'web-7', 'web-8', 'web-9', 'web-10']);
    const created = (await fixture.events()).filter(({ type }) => type === 'bead.created').map(({ subject }) => subject);
    expect(created).toEqual(await ids());
    expect(await drafts()).toBe(0);
  });

  it('finds the run that another process has launched meanwhile, and leaves nothing', async () => {
    const source = await h.create();
    const order = { recipe: RECIPES.tree, target: 'mayor', source };
    let first: string | undefined;
    meanwhile(async () => (first = (await beside.launch(order)).id));
    expect(await runs.launch(order)).toMatchObject({ id: first, created: false });
    expect(await ids()).toHaveLength(5);
    expect(await drafts()).toBe(0);
    // A repeat that knows reserves nothing.
    const before = await last();
    expect(await runs.launch(order)).toMatchObject({ id: first, created: false });
    expect(await last()).toBe(before);
  });

  it('that is refused has written nothing', async () => {
    const source = await h.create();
    meanwhile(() => beside.work.run(fixture.city, 'beside', (work) => work.close(source)));
    await expect(runs.launch({ recipe: RECIPES.tree, target: 'mayor', source })).rejects.toMatchObject({ problem: 'wrong_state' });
    await expect(runs.launch({ recipe: RECIPES.graph, source })).rejects.toMatchObject({ problem: 'wrong_state' });
    await expect(runs.launch({ recipe: RECIPES.plain })).rejects.toMatchObject({ problem: 'invalid_request' });
    expect(await ids()).toEqual([source]);
    expect(await drafts()).toBe(0);
  });

  it('does not find its beads before they are made, and tells of them as they are in the end', async () => {
    const order: LaunchOrder = { recipe: RECIPES.tree, by: 'sling', rig: '', target: 'mayor' };
    const [ready] = await runs.ahead.ready(fixture.city, [order]);
    const launch = async (work: Work): Promise<void> => {
      expect(await work.findAll(['al-1', 'al-2'])).toEqual([]);
      await runs.service.launch(work, { ...order, ready });
      await work.update('al-2', { title: 'Another' });
    };
    await fixture.work.run(fixture.city, 'api', launch, { ahead: aheadOf([ready]) });
    const events = await fixture.events();
    expect(events[1]).toMatchObject({ type: 'bead.created', subject: 'al-2', payload: { bead: { title: 'Another', revision: 2 } } });
    expect(events).toHaveLength(4);
  });

  it('under a key is answered again, and reserves nothing for that', async () => {
    const ask = (): Promise<unknown> => long.sling({ target: 'mayor', formula: 'tree' }, 'k').then(({ value }) => value);
    const first = await ask();
    const before = await last();
    expect([await ask(), await last()]).toEqual([first, before]);
    const two = [long, slings(fixture, beside.work, { texts: { tree: TREE } })];
    const both = await Promise.allSettled(
      [...two, ...two].map((each) => each.sling({ target: 'mayor', formula: 'tree', title: 'T' }, 'l')),
    );
    const answers = both.map((one) => (one.status === 'fulfilled' ? one.value.value.workflow_id! : (one.reason as ProblemError).problem));
    const { rows: made } = await sql<{ id: string }>`select id from runs where title = 'T'`.execute(fixture.db);
    expect(made).toHaveLength(1);
    expect(answers.filter((one) => one !== 'idempotency_in_flight' && one !== made[0]!.id)).toEqual([]);
    expect(answers).toContain(made[0]!.id);
    expect(await ids()).toHaveLength(2 * 4);
  });

  it('is rehearsed without a trace but for ids', async () => {
    const source = await h.create();
    const { value } = await long.sling({ target: 'mayor', formula: 'graph', attached_bead_id: source, dry_run: true });
    const types = value.events!.map(({ type }) => type);
    expect(
      [types.filter((type) => type === 'bead.created'), types.filter((type) => type === 'execution.step_defined')].map(
        ({ length }) => length,
      ),
    ).toEqual([5, 3]);
    expect(await ids()).toEqual([source]);
    expect(await drafts()).toBe(0);
  });

  it('of a batch is taken back with its bead', async () => {
    const [one, two] = [await h.create(), await h.create()];
    meanwhile(() => beside.work.run(fixture.city, 'beside', (work) => work.close(one)), 2);
    const { value } = await long.batch({ target: 'mayor', formula: 'tree', beads: [one, two], no_convoy: true });
    expect(value.results.map(({ status }) => status)).toEqual(['refused', 'slung']);
    expect(await ids()).toHaveLength(2 + 4);
    expect(await drafts()).toBe(0);
  });
});
