import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { sql } from 'kysely';
import { workFixture, type WorkFixture } from '../../../../../test/support/work.js';
import { hands } from '../../sling/testing/slings.js';
import { launches, recipeOf, type Launches } from '../testing/launches.js';
import { LimitsRepository } from './limits.repository.js';

let fixture: WorkFixture;
let runs: Launches;
let h: ReturnType<typeof hands>;
beforeEach(async () => {
  fixture = await workFixture();
  runs = launches(fixture);
  h = hands(fixture);
});
afterEach(() => fixture.close());

const HEAD = 'formula = "f"\n[requires]\nformula_compiler = ">=2.0.0"\n[vars]\nlimit = "20m"\n';
const CHECK = 'timeout = "{{limit}}"\ncheck = { max_attempts = 2, check = { mode = "exec", path = "../assets/green.sh" } }\n';

const idOf = async (ref: string): Promise<string> =>
  (await sql<{ id: string }>`select id from beads where ref = ${`f.${ref}`}`.execute(fixture.db)).rows[0]!.id;
const begin = async (ref: string): Promise<unknown> => h.change(await idOf(ref), { status: 'in_progress', assignee: 'polecat' });
const done = async (ref: string): Promise<unknown> => h.change(await idOf(ref), { status: 'closed', metadata: { 'gc.outcome': 'pass' } });
const steps = async (): Promise<Record<string, string>> =>
  Object.fromEntries(
    (
      await sql<{ ref: string; said: string }>`
        select ref, coalesce(metadata ->> 'gc.failure_reason', metadata ->> 'gc.outcome', status) as said from beads
        where run_id <> id order by created_at, length(id), id`.execute(fixture.db)
    ).rows.map(({ ref, said }) => [ref.slice(2), said]),
  );
/** Clocks that run have run out, just now. */
const later = (): Promise<unknown> =>
  sql`update run_steps set due_at = clock_timestamp() - interval '1 second' where due_at is not null`.execute(fixture.db);
const running = async (): Promise<number> =>
  (await sql<{ n: number }>`select count(*) as n from run_steps where due_at is not null`.execute(fixture.db)).rows[0]!.n;

describe('the timeout of a step with a check', () => {
  const one = `${HEAD}[[steps]]\nid = "a"\ntitle = "A"\n${CHECK}`;

  it('begins when somebody begins, ends the round that takes longer, and has the next one begun', async () => {
    const { id } = await runs.launch({ recipe: recipeOf(one), target: 'polecat' });
    expect((await h.bead(await idOf('a'))).metadata).toMatchObject({ 'gc.step_timeout': '20m' });
    expect(await running()).toBe(0);
    await begin('a.iteration.1');
    const { rows } = await sql<{ ms: number }>`
      select extract(epoch from due_at - clock_timestamp()) * 1000 as ms from run_steps where due_at is not null`.execute(fixture.db);
    expect([rows.length, Number(rows[0]!.ms) > 19 * 60_000, Number(rows[0]!.ms) <= 20 * 60_000]).toEqual([1, true, true]);
    expect(await runs.sweepLimits()).toBe(0);
    await later();
    expect(await runs.sweepLimits()).toBe(1);
    expect(await steps()).toEqual({ a: 'open', 'a.iteration.1': 'step_timeout', 'a.iteration.2': 'open' });
    await begin('a.iteration.2');
    await later();
    expect(await runs.sweepLimits()).toBe(1);
    expect(await runs.run(id)).toMatchObject({ status: 'failed', error_message: 'f.a failed' });
    expect(await running()).toBe(0);
  });

  it('is over with the round, whatever its script says', async () => {
    await runs.launch({ recipe: recipeOf(one), target: 'polecat' });
    await begin('a.iteration.1');
    await done('a.iteration.1');
    expect(await running()).toBe(0);
    await later();
    expect(await runs.sweepLimits()).toBe(0);
  });

  it('is one for all steps of a round', async () => {
    const children = ['x', 'y', 'z'].map((name) => `[[steps.children]]\nid = "${name}"\ntitle = "${name}"\n`).join('');
    await runs.launch({ recipe: recipeOf(`${one}${children}`), target: 'polecat' });
    await begin('a.iteration.1.x');
    expect(await running()).toBe(3);
    await done('a.iteration.1.x');
    expect(await running()).toBe(2);
    await begin('a.iteration.1.y');
    await later();
    expect(await runs.sweepLimits()).toBe(2);
    expect(await steps()).toEqual({
      a: 'open',
      ...{ 'a.iteration.1.x': 'pass', 'a.iteration.1.y': 'step_timeout', 'a.iteration.1.z': 'step_timeout' },
      ...{ 'a.iteration.2.x': 'open', 'a.iteration.2.y': 'open', 'a.iteration.2.z': 'open' },
    });
  });

  // Guard: the city's other writers get in between.
  it('ends steps in several transactions where that takes long', async () => {
    const children = ['x', 'y', 'z'].map((name) => `[[steps.children]]\nid = "${name}"\ntitle = "${name}"\n`).join('');
    await runs.launch({ recipe: recipeOf(`${one}${children}`), target: 'polecat' });
    await begin('a.iteration.1.x');
    await later();
    const head = (await fixture.events()).at(-1)!.seq;
    const looks = jest.spyOn(LimitsRepository.prototype, 'late');
    let now = 0;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => (now += 1_000));
    expect([await runs.sweepLimits(), looks.mock.calls.length]).toEqual([3, 3]);
    clock.mockRestore();
    looks.mockRestore();
    const ended = (await fixture.events(head)).filter(({ type }) => type === 'bead.closed');
    expect(ended).toHaveLength(3);
  });

  // Guard: what a step of the round has made starts its clock, too (`within`).
  it('begins with what a step of the round has made', async () => {
    const child = '[[steps.children]]\nid = "x"\ntitle = "x"\nretry = { max_attempts = 3 }\n';
    await runs.launch({ recipe: recipeOf(`${one}${child}`), target: 'polecat' });
    expect(await running()).toBe(0);
    await begin('a.iteration.1.x.attempt.1');
    expect(await running()).toBe(1);
    await later();
    expect(await runs.sweepLimits()).toBe(1);
    expect(await steps()).toMatchObject({ 'a.iteration.1.x': 'step_timeout', 'a.iteration.2.x': 'open' });
  });

  it('ends a round once, however many workers look', async () => {
    await runs.launch({ recipe: recipeOf(one), target: 'polecat' });
    await begin('a.iteration.1');
    await later();
    const ended = await Promise.all([runs.sweepLimits(), runs.sweepLimits(), runs.sweepLimits()]);
    expect(ended.reduce((sum, n) => sum + n)).toBe(1);
    expect(Object.keys(await steps())).toEqual(['a', 'a.iteration.1', 'a.iteration.2']);
  });
});
