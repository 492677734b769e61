import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import { hands } from '../sling/testing/slings.js';
import type { RunRow } from './run-row.js';
import { launches, recipeOf, type Launches } from './testing/launches.js';

/** Two processes on one database. */
let fixture: WorkFixture;
let both: readonly Launches[];
let h: ReturnType<typeof hands>;
beforeEach(async () => {
  fixture = await workFixture();
  both = [launches(fixture), launches(fixture, fixture.another())];
  h = hands(fixture);
});
afterEach(() => fixture.close());

const ROUNDS = 8;
const PAIR = `formula = "pair"
[[steps]]
id = "a"
title = "A"
[[steps]]
id = "b"
title = "B"
`;
const GRAPH = PAIR.replace('"pair"', '"graph"\n[requires]\nformula_compiler = ">=2.0.0"');

const closeAt = (at: Launches, id: string) => at.work.run(fixture.city, 'closer', (work) => work.close(id));
const cancelAt = (at: Launches, run: RunRow) =>
  at.work.run(fixture.city, 'canceler', (work) => at.endings.end(work, run, { outcome: 'canceled', reason: 'enough' }));
async function stepsOf(run: RunRow): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`select id from beads where run_id = ${run.id} and id <> ${run.id} order by ref`.execute(
    fixture.db,
  );
  return rows.map(({ id }) => id);
}
const toldOf = async (id: string, type: string): Promise<number> =>
  (await fixture.events()).filter((e) => e.subject === id && e.type === type).length;
/** What is counted of a run where beads change, and what there is. */
async function counted(run: RunRow): Promise<unknown> {
  const { rows } = await sql`
    select r.steps = count(b.*) as steps, r.closed = count(*) filter (where b.status = 'closed') as closed,
      r.active = count(*) filter (where b.status = 'in_progress') as active
    from runs r left join beads b on b.run_id = r.id and b.id <> r.id where r.id = ${run.id} group by r.steps, r.closed, r.active`.execute(
    fixture.db,
  );
  return rows[0];
}

describe('two processes', () => {
  it.each([300, 1])('make one run of a formula for a bead, where %i steps are few', async (few) => {
    for (const { work } of both) work.limits = { few, step: few };
    for (let n = 0; n < ROUNDS; n++) {
      const source = await h.create();
      const order = { recipe: recipeOf(n % 2 === 0 ? PAIR : GRAPH), target: 'mayor', source };
      const made = await Promise.all([...both, ...both].map((each) => each.launch(order)));
      expect(new Set(made.map(({ id }) => id)).size).toBe(1);
      expect(made.filter(({ created }) => created)).toHaveLength(1);
    }
    expect((await sql`select from runs`.execute(fixture.db)).rows).toHaveLength(ROUNDS);
    // Each bead is told once, and is there.
    const created = (await fixture.events()).filter(({ type }) => type === 'bead.created').map(({ subject }) => subject);
    const { rows } = await sql<{ id: string }>`select id from beads`.execute(fixture.db);
    expect(created.toSorted()).toEqual(rows.map(({ id }) => id).toSorted());
  });

  it('cannot write a second one, whatever they have read', async () => {
    const run = await both[0]!.launch({ recipe: recipeOf(PAIR), source: await h.create() });
    const again = h.run((work) => both[1]!.repository.insert(work.tx, fixture.city.streamId, { ...run, id: 'al-99' }));
    await expect(again).rejects.toMatchObject({ constraint: 'runs_live_key' });
  });

  it('close the last two steps, and the run once', async () => {
    for (let n = 0; n < ROUNDS; n++) {
      const run = await both[0]!.launch({ recipe: recipeOf(n % 2 === 0 ? PAIR : GRAPH), target: 'mayor' });
      const steps = await stepsOf(run);
      await Promise.all(steps.map((id, i) => closeAt(both[i]!, id)));
      expect(await both[0]!.run(run.id)).toMatchObject({ status: 'completed', closed: 2 });
      expect([await toldOf(run.id, 'bead.closed'), await toldOf(run.id, 'molecule.resolved')]).toEqual([1, n % 2 === 0 ? 1 : 0]);
    }
  });

  it('cancel a run while its last step is closed: it ends one way, once', async () => {
    for (let n = 0; n < ROUNDS; n++) {
      const run = await both[0]!.launch({ recipe: recipeOf(n % 2 === 0 ? PAIR : GRAPH), target: 'mayor' });
      const [first, last] = await stepsOf(run);
      await closeAt(both[0]!, first!);
      const [{ value: closed }] = await Promise.all([cancelAt(both[n % 2]!, run), closeAt(both[1 - (n % 2)]!, last!)]);
      expect(await both[0]!.run(run.id)).toMatchObject({ status: closed > 0 ? 'canceled' : 'completed', closed: 2, active: 0 });
      expect(await toldOf(run.id, 'bead.closed')).toBe(1);
      expect((await h.bead(run.id)).metadata['gc.outcome']).toBe(closed > 0 ? 'canceled' : n % 2 === 0 ? undefined : 'pass');
      expect(await counted(run)).toEqual({ steps: true, closed: true, active: true });
      const { value: again } = await cancelAt(both[1]!, run);
      expect(again).toBe(0);
      expect(await both[0]!.run(run.id)).toMatchObject({ status: closed > 0 ? 'canceled' : 'completed' });
    }
  });
});
