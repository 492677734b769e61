import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { sql } from 'kysely';
import { workFixture, type WorkFixture } from '../../../../../test/support/work.js';
import type { Recipe } from '../../formulas/compile/recipe.js';
import { problem } from '../../../../contract/problems.js';
import { AppLogger } from '../../../../platform/logging/logger.js';
import { WorkRepository } from '../../../work/work/work.repository.js';
import { launches, recipeOf, type Launches } from '../testing/launches.js';
import { ContinuationsRepository } from './continuations.repository.js';
import { restAfter } from './rest.js';

let fixture: WorkFixture;
let runs: Launches;
/** A convoy that has no members. */
let convoy: string;
beforeEach(async () => {
  fixture = await workFixture();
  runs = launches(fixture);
  const empty = await fixture.work.run(fixture.city, 'tester', (work) => work.create({ rig: '', title: 'None', type: 'convoy' }));
  convoy = empty.value.id;
});
afterEach(() => fixture.close());

const HEAD = 'formula = "f"\n[requires]\nformula_compiler = ">=2.0.0"\n';
const ITEM = `${HEAD.replace('"f"', '"item"')}[[steps]]\nid = "x"\ntitle = "X"\n`;
const LOOP =
  '[[steps]]\nid = "a"\ntitle = "A"\nloop = { until = "step.output.done == true", max = 60, body = [BODY] }\n[[steps]]\nid = "b"\ntitle = "B"\nneeds = ["a"]\n[[steps]]\nid = "c"\ntitle = "C"\n';

/** As a formula of before, whose loops have a scope in them and nothing else. */
const scopes = (text = LOOP): Recipe => {
  const recipe = recipeOf(HEAD + text.replaceAll('BODY', '{ id = "s", title = "S" }'));
  const steps = recipe.steps.map((step) =>
    step.control?.kind === 'loop'
      ? {
          ...step,
          control: {
            ...step.control,
            body: { steps: step.control.body.steps.map((each) => ({ ...each, kind: 'scope' as const })), edges: [] },
          },
        }
      : step,
  );
  return { ...recipe, steps };
};
const drains = (): Recipe =>
  recipeOf(HEAD + LOOP.replace('BODY', '{ id = "s", title = "S", drain = { formula = "item" } }'), {}, { item: ITEM });
const plain = (id: string): string => `[[steps]]\nid = "${id}"\ntitle = "P"\n`;
/** Loops of one round each, one after the other, the first of them after a step. */
const loops = (length: number, after = ''): string =>
  Array.from({ length }, (_, n) => {
    const needs = n === 0 ? after : `${after}l${n - 1}`;
    return `[[steps]]\nid = "${after}l${n}"\ntitle = "L"\n${needs === '' ? '' : `needs = ["${needs}"]\n`}loop = { until = "step.status == completed", max = 1, body = [BODY] }\n`;
  }).join('');
const chain = (length: number): Recipe => scopes(loops(length));
const launch = (recipe: Recipe): Promise<{ id: string }> => runs.launch({ recipe, target: 'polecat', source: convoy });

/** How each step of the run stands: its status, or how it ended. */
const steps = async (run: string): Promise<Record<string, string>> => {
  const { rows } = await sql<{ ref: string; at: string }>`
    select ref, coalesce(metadata ->> 'gc.outcome', status) as at from beads where run_id = ${run} and id <> run_id order by length(id), id`.execute(
    fixture.db,
  );
  return Object.fromEntries(rows.map(({ ref, at }) => [ref.slice('f.'.length), at]));
};
const rounds = async (run: string): Promise<number> => Object.keys(await steps(run)).filter((ref) => ref.includes('.iter')).length;

/** A second later, for whoever waits for his turn. */
const later = async (): Promise<void> =>
  void (await sql`update run_continuations set due_at = due_at - interval '1 second'`.execute(fixture.db));
const turn = async (): Promise<number> => {
  await later();
  return runs.sweepContinuations();
};
const isDue = async (): Promise<boolean> => {
  const { rows } = await sql<{ due: boolean }>`select ${new ContinuationsRepository(fixture.db).isDue} as due`.execute(fixture.db);
  return rows[0]!.due;
};

describe('rounds that end by themselves', () => {
  // Guards: they are not begun without end, and are counted across transactions.
  it.each([
    ['a scope', () => scopes()],
    ['a drain of a convoy without open members', drains],
  ])('end their loop, however many transactions they took: %s', async (_what, recipe) => {
    const { id } = await launch(recipe());
    expect(await rounds(id)).toBe(10);
    expect(await turn()).toBe(1);
    expect([await rounds(id), (await steps(id)).a]).toEqual([20, 'open']);
    expect(await turn()).toBe(1);
    const all = await steps(id);
    expect(Object.keys(all)).toHaveLength(3 + 20);
    expect(all).toMatchObject({ a: 'fail', b: 'skipped', c: 'open', 'a.iter20.s': 'pass' });
    const { rows } = await sql<{
      id: string;
      ref: string;
      metadata: unknown;
    }>`select id, ref, metadata from beads where run_id = ${id}`.execute(fixture.db);
    const step = (ref: string) => rows.find((row) => row.ref === ref)!;
    expect(step('f.a').metadata).toMatchObject({
      'gc.disposition': 'control_quarantined',
      'gc.failure_reason': 'more than 20 rounds ended one after the other without anybody doing anything',
    });
    await fixture.work.run(fixture.city, 'agent', (work) => work.update(step('f.c').id, { status: 'closed' }));
    expect(await runs.run(id)).toMatchObject({ status: 'failed', error_message: 'f.a failed' });
    expect(await turn()).toBe(0);
  });

  // Guards: what is too long for one transaction goes on in the next, and the rounds of others count for nobody.
  it('go on in another transaction after many of others', async () => {
    const { id } = await launch(chain(32));
    for (const done of [10, 20, 30]) {
      expect(await rounds(id)).toBe(done);
      expect(await runs.run(id)).toMatchObject({ outcome: null });
      expect(await turn()).toBe(1);
    }
    expect(await runs.run(id)).toMatchObject({ status: 'completed', outcome: 'pass' });
    expect(await turn()).toBe(0);
  });

  // Guard: the city's other writers get in between.
  it('leave the city to others for a second after each turn', async () => {
    const { id } = await launch(chain(32));
    expect([await isDue(), await runs.sweepContinuations(), await rounds(id)]).toEqual([false, 0, 10]);
    await later();
    expect([await isDue(), await runs.sweepContinuations(), await rounds(id)]).toEqual([true, 1, 20]);
    expect([await isDue(), await runs.sweepContinuations(), await rounds(id)]).toEqual([false, 0, 20]);
  });

  // Guard: a transaction may come back to a run as often as it ends a step of it.
  it('are no more in one transaction that ends several steps', async () => {
    const { id } = await launch(scopes(`${plain('x')}${plain('y')}${loops(12, 'x')}${loops(12, 'y')}`));
    const { rows } = await sql<{ id: string }>`select id from beads where ref in ('f.x', 'f.y')`.execute(fixture.db);
    await fixture.work.run(fixture.city, 'agent', async (work) => {
      for (const step of rows) await work.update(step.id, { status: 'closed' });
    });
    expect(await rounds(id)).toBe(10);
    expect([await turn(), await turn()]).toEqual([1, 1]);
    expect(await runs.run(id)).toMatchObject({ status: 'completed' });
  });

  // Guard: what its run decides waits for nobody else, so nothing would begin what comes after it.
  it('of a step that is opened again have the whole run go on where they end at once', async () => {
    const { id } = await launch(scopes(`${plain('x')}${loops(2, 'x')}${plain('y')}`));
    const change = async (ref: string, status: 'open' | 'closed', outcome = 'pass'): Promise<void> => {
      const { rows } = await sql<{ id: string }>`select id from beads where ref = ${`f.${ref}`}`.execute(fixture.db);
      const metadata: Record<string, string> = status === 'open' ? {} : { 'gc.outcome': outcome };
      await fixture.work.run(fixture.city, 'person', (work) => work.update(rows[0]!.id, { status, metadata }));
    };
    await change('xl0', 'closed', 'skipped');
    await change('x', 'closed');
    await change('xl1', 'open');
    expect(await steps(id)).toEqual({ x: 'pass', xl0: 'skipped', xl1: 'open', y: 'open' });
    await change('xl0', 'open');
    expect(await steps(id)).toEqual({ x: 'pass', xl0: 'pass', xl1: 'pass', y: 'open', 'xl0.iter1.s': 'pass', 'xl1.iter1.s': 'pass' });
  });

  // Guard: a run of many steps keeps the city no longer than one of few.
  it('do one after the other where one takes long', async () => {
    runs.limits.ms = -1;
    const { id } = await launch(chain(3));
    expect([await rounds(id), await turn(), await rounds(id), await turn()]).toEqual([1, 1, 2, 1]);
    expect(await runs.run(id)).toMatchObject({ status: 'completed' });
  });

  // Guard: nobody waits for the next look while a run has more to do.
  it('go on turn after turn until they end', async () => {
    runs.limits.rest = () => 0;
    const { id } = await launch(chain(32));
    await runs.goOn(new AbortController().signal);
    expect(await runs.run(id)).toMatchObject({ status: 'completed', outcome: 'pass' });
  });

  // Guard: many runs that go on leave as much to the city's other writers as one does.
  it('give their city a rest after each turn, whichever run is next', async () => {
    runs.limits.rest = () => 0;
    const { streamId } = fixture.city;
    const { id } = await launch(chain(12));
    await runs.launch({ recipe: chain(12), target: 'polecat' });
    const resting = new Map<number, number>();
    const now = jest.spyOn(performance, 'now').mockReturnValue(1_000_000);
    expect([await runs.sweepContinuations(resting), await rounds(id)]).toEqual([1, 12]);
    now.mockRestore();
    expect(resting).toEqual(new Map([[streamId, 1_000_000 + restAfter(0)]]));
    expect(await runs.sweepContinuations(new Map([[streamId, Infinity]]))).toBe(0);
    expect(await runs.sweepContinuations(new Map([[streamId, performance.now()]]))).toBe(1);
  });

  // Guard: what has stopped waits, and nobody looks at it meanwhile.
  it('wait while their city does not run', async () => {
    const { id } = await launch(chain(12));
    await later();
    await sql`update cities set running = false`.execute(fixture.db);
    expect([await isDue(), await runs.sweepContinuations(), await rounds(id)]).toEqual([false, 0, 10]);
    await runs.goOn(new AbortController().signal);
    await sql`update cities set running = true`.execute(fixture.db);
    expect([await isDue(), await runs.sweepContinuations(), await rounds(id)]).toEqual([true, 1, 12]);
  });

  // Guard: an operator stops cities, and nothing is wrong then.
  it('are told of to nobody where their city stops just then', async () => {
    const { id } = await launch(chain(12));
    await later();
    const begin = jest.spyOn(WorkRepository.prototype, 'begin').mockResolvedValue(false);
    const warn = jest.spyOn(AppLogger.prototype, 'warn');
    expect([await runs.sweepContinuations(), warn.mock.calls]).toEqual([0, []]);
    begin.mockRestore();
    warn.mockRestore();
    expect([await runs.sweepContinuations(), await rounds(id)]).toEqual([1, 12]);
  });

  // Guard: a run has one turn, whoever looks at it.
  it('go on once where two workers see that it is their turn', async () => {
    const { id } = await launch(chain(32));
    await later();
    const went = await Promise.all([runs.sweepContinuations(), runs.sweepContinuations()]);
    expect([went.toSorted(), await rounds(id)]).toEqual([[0, 1], 20]);
  });

  // Guard: one that cannot go on holds up no others of its city.
  it('of others go on while those of one run fail', async () => {
    const { id: older } = await launch(chain(12));
    const { id: younger } = await runs.launch({ recipe: chain(12), target: 'polecat' });
    const find = runs.repository.find.bind(runs.repository);
    const broken = jest.spyOn(runs.repository, 'find').mockImplementation((tx, stream, run) => {
      if (run === older) throw new Error('it breaks');
      return find(tx, stream, run);
    });
    expect([await turn(), await turn(), await turn()]).toEqual([0, 1, 0]);
    expect([await rounds(older), await rounds(younger)]).toEqual([10, 12]);
    broken.mockRestore();
    await sql`update run_continuations set due_at = due_at - interval '30 seconds'`.execute(fixture.db);
    expect([await runs.sweepContinuations(), await rounds(older)]).toEqual([1, 12]);
  });

  // Guard: what cannot be committed has failed as well.
  it('of others go on while what those of one run do is undone at its end', async () => {
    const { id: older } = await launch(chain(12));
    const { id: younger } = await runs.launch({ recipe: chain(12), target: 'polecat' });
    fixture.failpoints.arm('tx.before_commit', () => {
      throw new Error('it breaks');
    });
    expect([await turn(), await rounds(older)]).toEqual([0, 10]);
    fixture.failpoints.disarm('tx.before_commit');
    expect([await turn(), await rounds(older), await rounds(younger)]).toEqual([1, 10, 12]);
  });

  // Guard: nobody has failed where the city was not to be had.
  it('are next again where others have the city for too long', async () => {
    const { id } = await launch(chain(12));
    await later();
    const begin = jest.spyOn(WorkRepository.prototype, 'begin').mockRejectedValue(problem('unavailable', 'unavailable: the city is busy'));
    expect(await runs.sweepContinuations()).toBe(0);
    begin.mockRestore();
    expect([await isDue(), await runs.sweepContinuations(), await rounds(id)]).toEqual([true, 1, 12]);
  });
});
