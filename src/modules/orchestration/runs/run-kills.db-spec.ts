import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { DEEP } from '../../../../test/support/depth.js';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import type { WorkService } from '../../work/work/work.service.js';
import { hands } from '../sling/testing/slings.js';
import { launches, recipeOf, type Launches } from './testing/launches.js';

/** A process that dies at one statement after the other of what it does for a run, and one that lives. */
let fixture: WorkFixture;
let dying: ReturnType<WorkFixture['mortal']>;
let mortal: Launches;
let alive: Launches;
let h: ReturnType<typeof hands>;
beforeEach(async () => {
  fixture = await workFixture();
  dying = fixture.mortal();
  mortal = launches(fixture, dying.work);
  alive = launches(fixture);
  h = hands(fixture);
});
afterEach(() => fixture.close());

/** Most of what is in between is the same again. */
const STRIDE = DEEP ? 1 : 5;
const MOST = 200;

const everything = async (but?: string): Promise<unknown> => {
  const tables = [
    'beads',
    'bead_dependencies',
    'bead_counters',
    'runs',
    'run_steps',
    'run_counts',
    'event_streams',
    'events',
    'event_drafts',
  ];
  const sums = tables
    .filter((table) => table !== but)
    .map((table) => sql`(select md5(string_agg(t::text, ',' order by t::text)) from ${sql.table(table)} t)`);
  return (await sql`select array[${sql.join(sums)}] as sums`.execute(fixture.db)).rows;
};

/** Does it again and again, and is killed one place further each time, until it comes through. Answers how often that was; all is as before but in the table `but`. */
async function killedEverywhere(act: () => Promise<unknown>, but?: string): Promise<number> {
  const before = await everything(but);
  let kills = 0;
  for (let place = 1; place < MOST; place += STRIDE) {
    dying.dieAt(place);
    const done = await act().then(
      () => true,
      () => false,
    );
    dying.dieAt(undefined);
    if (done) return kills;
    kills++;
    expect([place, await everything(but)]).toEqual([place, before]);
  }
  throw new Error('it never comes through');
}

const HEAD = '[requires]\nformula_compiler = ">=2.0.0"\n';
const LIST = `formula = "list"\n${HEAD}[[steps]]
id = "a"
title = "A"
on_complete = { for_each = "output.files", bond = "look", vars = { path = "{item}" } }
[[steps]]
id = "b"
title = "B"
`;
const LOOK = `formula = "look"\ntype = "expansion"\n${HEAD}[vars]\npath = { required = true }
[[template]]
id = "{target}.look"
title = "Look at {path}"
`;
const fanning = () => ({ recipe: recipeOf(LIST, {}, { look: LOOK }), target: 'polecat' });
const stepsOf = async (run: string): Promise<Record<string, string>> => {
  const { rows } = await sql<{
    id: string;
    ref: string;
  }>`select id, ref from beads where run_id = ${run} and id <> ${run} order by ref`.execute(fixture.db);
  return Object.fromEntries(rows.map(({ id, ref }) => [ref.slice('list.'.length), id]));
};
const closing = (by: WorkService, id: string, metadata = {}) =>
  by.run(fixture.city, 'agent', (work) => work.update(id, { status: 'closed', metadata }));

describe('a process that is killed', () => {
  it('while it launches leaves nothing of the run', async () => {
    const source = await h.create();
    const kills = await killedEverywhere(() => mortal.launch({ ...fanning(), source }));
    expect(kills).toBeGreaterThan(15 / STRIDE);
    expect((await sql`select from runs`.execute(fixture.db)).rows).toHaveLength(1);
  });

  it('while it launches a long one leaves nothing of it but ids', async () => {
    mortal.work.limits = { few: 1, step: 1 };
    const source = await h.create();
    const kills = await killedEverywhere(() => mortal.launch({ ...fanning(), source }), 'bead_counters');
    expect(kills).toBeGreaterThan(25 / STRIDE);
    const created = (await fixture.events()).filter(({ type }) => type === 'bead.created').map(({ subject }) => subject);
    const { rows } = await sql<{ id: string }>`select id from beads`.execute(fixture.db);
    expect(created.toSorted()).toEqual(rows.map(({ id }) => id).toSorted());
  });

  it('half way through a fan-out leaves none of its items, and whoever comes next makes each of them once', async () => {
    const { id } = await alive.launch(fanning());
    const { a, b } = await stepsOf(id);
    const output = { 'gc.output_json': '{"files":["x","y","z"]}' };
    const kills = await killedEverywhere(() => closing(mortal.work, a!, output));
    expect(kills).toBeGreaterThan(15 / STRIDE);
    const items = ['a.item.1.look', 'a.item.2.look', 'a.item.3.look'];
    const made = await stepsOf(id);
    expect(Object.keys(made)).toEqual(['a', 'a-fanout', ...items, 'b']);
    // It has died before it could say so: the repeat, and what goes on with the run, makes no more of them.
    await closing(alive.work, a!, output);
    await closing(alive.work, b!);
    expect(await stepsOf(id)).toEqual(made);
    for (const item of items) await closing(alive.work, made[item]!);
    expect(await alive.run(id)).toMatchObject({ status: 'completed', steps: 6, closed: 6 });
    const told = (await fixture.events()).filter(({ type }) => type === 'execution.step_defined').map(({ subject }) => subject);
    expect(new Set(told).size).toBe(told.length);
  });

  it('while it ends a run, or cancels one, leaves it going on', async () => {
    for (const end of ['close', 'cancel'] as const) {
      const run = await alive.launch({ ...fanning(), source: await h.create() });
      const { a, b } = await stepsOf(run.id);
      await closing(alive.work, a!, { 'gc.output_json': '{"files":[]}' });
      const kills = await killedEverywhere(() =>
        end === 'close'
          ? closing(mortal.work, b!)
          : mortal.work.run(fixture.city, 'canceler', (work) => mortal.endings.end(work, run, { outcome: 'canceled', reason: 'enough' })),
      );
      expect(kills).toBeGreaterThan(15 / STRIDE);
      expect(await alive.run(run.id)).toMatchObject({ status: end === 'close' ? 'completed' : 'canceled', closed: 3 });
      const ended = (await fixture.events()).filter(({ type, subject }) => type === 'bead.closed' && subject === run.id);
      expect(ended).toHaveLength(1);
    }
  });
});
