import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { sql } from 'kysely';
import { ANYBODY } from '../../../contract/principal.js';
import { BeginningDialect } from '../../../platform/database/beginning.js';
import { Db } from '../../../platform/database/database.js';
import { Transactions } from '../../../platform/database/transactions.js';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import { DependenciesRepository } from '../../work/dependencies/dependencies.repository.js';
import { DependenciesService } from '../../work/dependencies/dependencies.service.js';
import { isSaid } from '../../work/work/diff.js';
import { WorkRepository } from '../../work/work/work.repository.js';
import { WorkService } from '../../work/work/work.service.js';
import { hands } from '../sling/testing/slings.js';
import { RunControlRepository } from './control/control.repository.js';
import type { RunRow } from './run-row.js';
import { launches, recipeOf, type Launches } from './testing/launches.js';

/** What is opened with a step that is opened again: what its own end has had skipped. */
let fixture: WorkFixture;
let runs: Launches;
let h: ReturnType<typeof hands>;
beforeEach(async () => {
  fixture = await workFixture();
  runs = launches(fixture);
  h = hands(fixture);
});
afterEach(() => fixture.close());

const HEAD = 'formula = "f"\n[requires]\nformula_compiler = ">=2.0.0"\n';
const step = (id: string, ...lines: readonly string[]): string => ['[[steps]]', `id = "${id}"`, `title = "${id}"`, ...lines, ''].join('\n');
const LOOK = `formula = "look"
type = "expansion"
[requires]
formula_compiler = ">=2.0.0"
[vars]
path = { required = true }
[[template]]
id = "{target}.look"
title = "Look at {path}"
`;
const FAN_OUT = step('a', 'on_complete = { for_each = "output.files", bond = "look", vars = { path = "{item}" } }');

const SCOPE = step('s', 'metadata = { "gc.kind" = "scope" }');
const IN_SCOPE = 'metadata = { "gc.scope_ref" = "s", "gc.on_fail" = "abort_scope" }';
const member = (id: string, ...lines: readonly string[]): string => step(id, IN_SCOPE, ...lines);

const launch = (text: string, others: Readonly<Record<string, string>> = {}): Promise<RunRow> =>
  runs.launch({ recipe: recipeOf(HEAD + text, {}, others), target: 'mayor' });

const idOf = async (ref: string): Promise<string> => {
  const { rows } = await sql<{ id: string }>`select id from beads where ref = ${`f.${ref}`}`.execute(fixture.db);
  return rows[0]!.id;
};
/** How each step is: `open`, or how it ended. */
const steps = async (): Promise<Record<string, string>> => {
  const { rows } = await sql<{ ref: string; is: string }>`
    select substr(ref, 3) as ref, case when status = 'closed' then coalesce(metadata ->> 'gc.outcome', 'pass') else status end as is
    from beads where run_id <> id order by created_at, length(id), id`.execute(fixture.db);
  return Object.fromEntries(rows.map(({ ref, is }) => [ref, is]));
};
const end = async (ref: string, outcome?: string, more: Record<string, string> = {}): Promise<void> => {
  await h.change(await idOf(ref), { status: 'closed', metadata: { ...(outcome === undefined ? {} : { 'gc.outcome': outcome }), ...more } });
};
const open = async (ref: string): Promise<void> => {
  await h.change(await idOf(ref), { status: 'open' });
};

describe('a control that is opened again', () => {
  // Guards: the run would be completed without what the end of the control has skipped.
  it.each(['fail', 'skipped', 'canceled', 'pass'])('opens the items that its end has skipped, and no others: %s', async (outcome) => {
    const { id } = await launch(`${FAN_OUT}${step('b')}`, { look: LOOK });
    await end('a', 'pass', { 'gc.output_json': '{"files":["x","y","z"]}' });
    await end('a.item.1.look', 'pass');
    await end('a.item.2.look', 'skipped');
    await end('a-fanout', outcome);
    expect(await steps()).toMatchObject({ 'a-fanout': outcome, 'a.item.3.look': 'skipped' });
    await open('a-fanout');
    expect(await steps()).toMatchObject({
      ...{ 'a-fanout': 'open', 'a.item.1.look': 'pass', 'a.item.2.look': 'skipped', 'a.item.3.look': 'open' },
    });
    await end('b');
    expect(await runs.run(id)).toMatchObject({ status: 'active' });
    await open('a.item.2.look');
    for (const n of [2, 3]) await end(`a.item.${n}.look`, 'pass');
    expect(await runs.run(id)).toMatchObject({ status: 'completed' });
  });

  it.each([
    [
      'a loop',
      'loop = { until = "step.output.ok == true", max = 1, body = [{ id = "x", title = "X" }, { id = "y", title = "Y" }] }',
      'a.iter1.y',
    ],
    ['a retry', 'retry = { max_attempts = 1 }', 'a.attempt.1'],
    ['a check', 'check = { max_attempts = 1, check = { mode = "exec", path = "../assets/green.sh" } }', 'a.iteration.1'],
  ])('goes on with the round that its end has skipped: %s', async (_, control, last) => {
    const { id } = await launch(`${step('a', control)}${step('b', 'needs = ["a"]')}${step('c')}`);
    await end('a', 'fail');
    expect(await steps()).toMatchObject({ a: 'fail', b: 'skipped', [last]: 'skipped' });
    await open('a');
    expect(await steps()).toMatchObject({ a: 'open', b: 'open', [last]: 'open' });
    await end('c');
    expect(await runs.run(id)).toMatchObject({ outcome: null });
  });

  // Guard: what its end has skipped would be done beside it, and be skipped again.
  it.each([
    [
      'a loop',
      'loop = { until = "step.output.ok == true", max = 1, body = [{ id = "x", title = "X" }, { id = "y", title = "Y", needs = ["x"] }] }',
      'a.iter1.x',
      'a.iter1.y',
    ],
    [
      'a loop, also what cleans up in it',
      'loop = { until = "step.output.ok == true", max = 1, body = [{ id = "x", title = "X", metadata = { "gc.kind" = "cleanup" } }, { id = "y", title = "Y", needs = ["x"] }] }',
      'a.iter1.x',
      'a.iter1.y',
    ],
    ['a retry', 'retry = { max_attempts = 1 }', 'a.attempt.1', ''],
  ])('keeps its rounds as they are while it has passed: %s', async (_, control, done, rest) => {
    await launch(`${step('a', control)}${step('c')}`);
    await end(done, 'pass');
    if (rest !== '') await end('a', 'pass');
    const [a, id] = [await idOf('a'), await idOf(done)];
    await expect(open(done)).rejects.toMatchObject({
      problem: 'wrong_state',
      detail: `conflict: bead ${id} is a part of ${a}, which has ended; a person opens that again first`,
    });
    expect(await steps()).toMatchObject({ a: 'pass', [done]: 'pass', ...(rest === '' ? {} : { [rest]: 'skipped' }) });
    await open('a');
    await open(done);
    expect(await steps()).toMatchObject({ a: 'open', [done]: 'open', ...(rest === '' ? {} : { [rest]: 'open' }) });
  });

  // Guard: what the person has opened it for would be over again.
  it('stays open when a closed bead outside its run is removed that it waited for', async () => {
    await launch(`${step('a', 'retry = { max_attempts = 1 }')}${step('c')}`);
    const x = await fixture.work.run(fixture.city, 'somebody', async (work) => {
      const { id } = await work.create({ rig: '', title: 'x' });
      await work.putEdge({ issue_id: await idOf('a'), depends_on_id: id, type: 'blocks' });
      return work.close(id);
    });
    await end('a.attempt.1', 'pass');
    expect(await steps()).toMatchObject({ a: 'pass' });
    await open('a');
    await fixture.work.run(fixture.city, 'somebody', (work) => work.remove(x.value.id));
    expect(await steps()).toMatchObject({ a: 'open', 'a.attempt.1': 'pass' });
  });

  it('opens with a member of a scope what that has taken down', async () => {
    const { id } = await launch(`${SCOPE}${member('m')}${member('n', 'retry = { max_attempts = 2 }')}${step('b')}`);
    await end('m', 'fail');
    expect(await steps()).toMatchObject({ s: 'fail', m: 'fail', n: 'skipped', 'n.attempt.1': 'skipped' });
    await open('s');
    expect(await steps()).toMatchObject({ s: 'open', m: 'fail', n: 'skipped' });
    await open('m');
    expect(await steps()).toMatchObject({ s: 'open', m: 'open', n: 'open', 'n.attempt.1': 'open' });
    await end('m', 'pass');
    await end('b');
    expect(await runs.run(id)).toMatchObject({ outcome: null });
    await end('n.attempt.1', 'pass');
    expect(await runs.run(id)).toMatchObject({ status: 'completed' });
  });

  it('opens what the release before has taken down with a member of a scope', async () => {
    await launch(`${SCOPE}${member('m')}${member('n', 'retry = { max_attempts = 2 }')}${step('b')}`);
    await end('m', 'fail');
    await sql`update beads set metadata = metadata - 'gc.skipped_for'`.execute(fixture.db);
    await open('s');
    await open('m');
    expect(await steps()).toMatchObject({ s: 'open', m: 'open', n: 'open', 'n.attempt.1': 'open' });
  });

  // Guard: it is done behind what has ended.
  it.each(['"gc.kind" = "cleanup"', '"gc.scope_role" = "teardown"'])('opens again what cleans up behind a scope: %s', async (cleans) => {
    await launch(`${SCOPE}${member('m')}${step('w', `metadata = { ${cleans}, "gc.scope_ref" = "s" }`)}${step('b')}`);
    await end('m', 'fail');
    await end('w', 'fail');
    expect(await steps()).toMatchObject({ s: 'fail', w: 'fail' });
    await open('w');
    expect(await steps()).toMatchObject({ s: 'fail', w: 'open' });
  });

  it('opens what waits for it, and not what a member has taken down in a round', async () => {
    const inRound = IN_SCOPE.replace('metadata', 'title = "T", metadata');
    const body = `[{ id = "s", title = "S", metadata = { "gc.kind" = "scope" } }, { id = "m", ${inRound} }, { id = "n", ${inRound} }]`;
    await launch(
      `${step('a', `loop = { until = "step.output.ok == true", max = 1, body = ${body} }`)}${step('b', 'needs = ["a"]')}${step('c')}`,
    );
    await end('a.iter1.m', 'fail');
    expect(await steps()).toMatchObject({ a: 'fail', b: 'skipped', 'a.iter1.s': 'fail', 'a.iter1.n': 'skipped' });
    await open('a');
    expect(await steps()).toMatchObject({ a: 'open', b: 'open', 'a.iter1.n': 'skipped' });
    await open('a.iter1.s');
    await open('a.iter1.m');
    expect(await steps()).toMatchObject({ 'a.iter1.s': 'open', 'a.iter1.m': 'open', 'a.iter1.n': 'open' });
  });

  it('says for which item it was skipped', async () => {
    await launch(`${FAN_OUT}${step('b')}`, { look: LOOK });
    await end('a', 'pass', { 'gc.output_json': '{"files":["x"]}' });
    await end('a.item.1.look', 'skipped');
    expect(await h.bead(await idOf('a-fanout'))).toMatchObject({
      metadata: { 'gc.outcome': 'skipped', 'gc.skipped_for': await idOf('a.item.1.look') },
    });
  });

  // Guard: it would pass on items of what is done anew.
  it('is not opened with what it waits for once it has items, also where they have passed', async () => {
    const { id } = await launch(`${FAN_OUT}${step('b')}`, { look: LOOK });
    await end('a', 'pass', { 'gc.output_json': '{"files":["x"]}' });
    await open('a');
    await end('a.item.1.look', 'pass');
    await end('a', 'fail');
    expect(await steps()).toMatchObject({ a: 'fail', 'a-fanout': 'skipped', 'a.item.1.look': 'pass' });
    const [a, fanOut] = [await idOf('a'), await idOf('a-fanout')];
    await expect(open('a')).rejects.toMatchObject({
      problem: 'wrong_state',
      detail: `conflict: run ${id} has skipped ${fanOut} for ${a}, which had begun before; launch its formula again`,
    });
  });

  // Guard: a round of a step that had begun is not opened before what the step waits for.
  it('is not opened with what it waits for once it has begun, also where a round of it has failed', async () => {
    const { id } = await launch(`${step('a')}${step('b', 'needs = ["a"]', 'retry = { max_attempts = 2 }')}${step('c')}`);
    await end('a', 'pass');
    await end('b.attempt.1', 'fail', { 'gc.failure_class': 'transient' });
    await open('a');
    await end('a', 'fail');
    expect(await steps()).toMatchObject({ b: 'skipped', 'b.attempt.1': 'fail', 'b.attempt.2': 'skipped' });
    const [a, b] = [await idOf('a'), await idOf('b')];
    await expect(open('a')).rejects.toMatchObject({
      problem: 'wrong_state',
      detail: `conflict: run ${id} has skipped ${b} for ${a}, which had begun before; launch its formula again`,
    });
  });
});

describe('a control that has something to begin when it is opened again', () => {
  const asked = async (): Promise<number> => (await sql`select from run_checks`.execute(fixture.db)).rows.length;

  // Guard: nothing that happens later would begin it, and the run would stand still.
  it.each([
    ['a retry', 'retry = { max_attempts = 2 }', 'b.attempt.1'],
    ['a loop', 'loop = { until = "step.output.ok == true", max = 2, body = [{ id = "x", title = "X" }] }', 'b.iter1.x'],
  ])('begins it where what it waits for has passed meanwhile: %s', async (_, control, first) => {
    await launch(`${step('a')}${step('b', 'needs = ["a"]', control)}${step('c', 'needs = ["b"]')}`);
    await end('b', 'pass');
    await end('a', 'pass');
    expect(await steps()).toEqual({ a: 'pass', b: 'pass', c: 'open' });
    await open('b');
    expect(await steps()).toEqual({ a: 'pass', b: 'open', c: 'open', [first]: 'open' });
  });

  it('begins nothing before what it waits for has passed', async () => {
    await launch(`${step('a')}${step('b', 'needs = ["a"]', 'retry = { max_attempts = 2 }')}${step('c')}`);
    await end('b', 'pass');
    await open('b');
    expect(await steps()).toEqual({ a: 'open', b: 'open', c: 'open' });
  });

  it('asks for its script again', async () => {
    await launch(`${step('a', 'check = { max_attempts = 2, check = { mode = "exec", path = "../assets/green.sh" } }')}${step('c')}`);
    await end('a.iteration.1', 'pass');
    expect(await asked()).toBe(1);
    await end('a', 'fail');
    expect(await asked()).toBe(0);
    await open('a');
    expect([await asked(), await steps()]).toEqual([1, { a: 'open', 'a.iteration.1': 'pass', c: 'open' }]);
  });

  // Guard: whoever opens it to open its last round after it would find it closed again.
  it('is not closed again by what it has found before', async () => {
    const { id } = await launch(`${step('a', 'retry = { max_attempts = 2 }')}${step('c')}`);
    await end('a.attempt.1', 'fail', { 'gc.failure_class': 'hard' });
    expect(await steps()).toMatchObject({ a: 'fail' });
    await open('a');
    await open('a.attempt.1');
    expect(await steps()).toEqual({ a: 'open', 'a.attempt.1': 'open', c: 'open' });
    await end('a.attempt.1', 'pass');
    await end('c', 'pass');
    expect(await runs.run(id)).toMatchObject({ status: 'completed' });
  });
});

describe('a control that a person has opened again', () => {
  const RETRY = 'retry = { max_attempts = 2 }';
  const edges = (): DependenciesService => new DependenciesService(new DependenciesRepository(fixture.db), fixture.work);
  const unlink = async (ref: string, needed: string): Promise<void> => {
    await edges().remove(fixture.city, await idOf(ref), await idOf(needed), ANYBODY);
  };

  // Guard: whoever opens several of a run would find the first of them closed.
  it.each([
    ['r', 'n'],
    ['n', 'r'],
  ])('stays open while another one begins what it has to: %s, %s', async (...order) => {
    await launch(`${step('r', RETRY)}${step('a')}${step('n', 'needs = ["a"]', RETRY)}${step('c')}`);
    await end('n', 'pass');
    await end('a', 'pass');
    await end('r.attempt.1', 'fail', { 'gc.failure_class': 'hard' });
    for (const ref of order) await open(ref);
    expect(await steps()).toMatchObject({ r: 'open', n: 'open', 'n.attempt.1': 'open' });
    await open('r.attempt.1');
    await end('r.attempt.1', 'pass');
    expect(await steps()).toMatchObject({ r: 'pass', n: 'open', c: 'open' });
  });

  it('has nothing begun that waits for it', async () => {
    await launch(`${step('r', RETRY)}${step('n', 'needs = ["r"]', RETRY)}${step('x')}${step('c')}`);
    await end('n', 'pass');
    await end('r.attempt.1', 'pass');
    expect(await steps()).toMatchObject({ r: 'pass', n: 'pass' });
    for (const ref of ['r', 'n']) await open(ref);
    expect(await steps()).toEqual({ r: 'open', n: 'open', x: 'open', c: 'open', 'r.attempt.1': 'pass' });
    await end('c', 'pass');
    expect(await steps()).toMatchObject({ r: 'pass', n: 'open', 'n.attempt.1': 'open' });
  });

  // The whole run would go on with that end, and close it, too.
  it.each(['pass', 'fail'])('has nothing ended that waits for it, where an edge of that is changed: %s', async (outcome) => {
    await launch(`${step('x')}${step('r', RETRY)}${step('n', 'needs = ["r", "x"]', RETRY)}${step('c')}`);
    await end('x', 'pass');
    if (outcome === 'fail') await end('n', 'pass');
    await end('r.attempt.1', outcome, outcome === 'fail' ? { 'gc.failure_class': 'hard' } : {});
    if (outcome === 'pass') await end('n.attempt.1', 'pass');
    expect(await steps()).toMatchObject({ r: outcome, n: 'pass' });
    for (const ref of ['r', 'n']) await open(ref);
    await unlink('n', 'x');
    expect(await steps()).toMatchObject({ r: 'open', n: 'open', 'r.attempt.1': outcome });
  });

  // Guard: the whole run would go on with that end, and its scope would fail again.
  it('has no other member of its scope taken down, where an edge of that is changed', async () => {
    await launch(`${step('x')}${SCOPE}${member('m', RETRY)}${member('n', 'needs = ["x"]', RETRY)}${step('c')}`);
    await end('m.attempt.1', 'fail', { 'gc.failure_class': 'hard' });
    expect(await steps()).toMatchObject({ s: 'fail', m: 'fail', n: 'skipped' });
    for (const ref of ['s', 'm']) await open(ref);
    await unlink('n', 'x');
    expect(await steps()).toMatchObject({ s: 'open', m: 'open', n: 'open' });
  });

  // Guard: it would end by what has ended in its round before, and take with it what a person has opened in that.
  it.each([
    ['passes', "step.status == 'completed'"],
    ['fails', 'step.output.ok == true'],
  ])('keeps what is open in its round, where an edge of it is changed: it %s', async (_, until) => {
    const body = '[{ id = "y", title = "Y", retry = { max_attempts = 2 } }]';
    await launch(`${step('x')}${step('l', 'needs = ["x"]', `loop = { until = "${until}", max = 1, body = ${body} }`)}${step('c')}`);
    await end('x', 'pass');
    await end('l.iter1.y.attempt.1', 'pass');
    for (const ref of ['l', 'l.iter1.y']) await open(ref);
    await unlink('l', 'x');
    expect(await steps()).toMatchObject({ l: 'open', 'l.iter1.y': 'open', 'l.iter1.y.attempt.1': 'pass' });
    await open('l.iter1.y.attempt.1');
    await end('l.iter1.y.attempt.1', 'pass');
    expect(await steps()).toMatchObject({ l: until.includes('ok') ? 'fail' : 'pass', 'l.iter1.y': 'pass' });
  });

  it('opens no gate by what it has found before, where an edge of that is changed', async () => {
    const gate = '[[compose.gate]]\nbefore = "z"\ncondition = "steps.complete >= 2"\n';
    await launch(`${step('r', RETRY)}${step('x')}${step('y')}${step('z', 'needs = ["x"]')}${gate}`);
    for (const ref of ['r.attempt.1', 'y']) await end(ref, 'pass');
    await open('r');
    await unlink('gate-z', 'x');
    expect(await steps()).toMatchObject({ r: 'open', 'gate-z': 'open' });
    await end('x', 'pass');
    expect(await steps()).toMatchObject({ r: 'pass', 'gate-z': 'pass' });
  });

  // Guard: nothing else would open it until a step ends.
  it('keeps no gate shut whose condition holds without it, where an edge of that is changed', async () => {
    const gates = ['z', 'w'].map((id, n) => `[[compose.gate]]\nbefore = "${id}"\ncondition = "steps.complete >= ${n + 1}"\n`);
    await launch(
      `${step('r', RETRY)}${step('x')}${step('y')}${['z', 'w'].map((id) => step(id, 'needs = ["x"]')).join('')}${gates.join('')}`,
    );
    for (const ref of ['r.attempt.1', 'y']) await end(ref, 'pass');
    await open('r');
    await unlink('gate-w', 'x');
    expect(await steps()).toMatchObject({ r: 'open', 'gate-w': 'open', 'gate-z': 'open' });
    await unlink('gate-z', 'x');
    expect(await steps()).toMatchObject({ 'gate-z': 'pass' });
  });

  // Guard: it would be skipped with what it begins, and its scope would fail again.
  it('begins nothing while a member of its scope has failed', async () => {
    const { id } = await launch(`${step('x')}${SCOPE}${member('m')}${member('n', 'needs = ["x"]', RETRY)}${step('c')}`);
    await end('n', 'pass');
    await end('x', 'pass');
    await end('m', 'fail');
    for (const ref of ['s', 'n']) await open(ref);
    expect(await steps()).toEqual({ x: 'pass', s: 'open', m: 'fail', n: 'open', c: 'open' });
    await open('m');
    await end('m', 'pass');
    expect(await steps()).toMatchObject({ s: 'open', m: 'pass', n: 'open', 'n.attempt.1': 'open' });
    for (const ref of ['n.attempt.1', 'c']) await end(ref, 'pass');
    expect(await runs.run(id)).toMatchObject({ status: 'completed' });
  });

  // Guard: edges of others are not its own.
  it('stays open when an edge between others is changed', async () => {
    await launch(`${step('r', RETRY)}${step('x')}${step('y', 'needs = ["x"]')}${step('n', 'needs = ["x"]', RETRY)}`);
    await end('r.attempt.1', 'fail', { 'gc.failure_class': 'hard' });
    await open('r');
    const [x, y] = [await idOf('x'), await idOf('y')];
    const facts = jest.spyOn(RunControlRepository.prototype, 'facts');
    for (const type of ['related', 'blocks', 'related'] as const) await edges().add(fixture.city, y, { depends_on_id: x, type }, ANYBODY);
    // What a plain step waits for is nothing that its run decides.
    expect(facts).not.toHaveBeenCalled();
    facts.mockRestore();
    await unlink('n', 'x');
    expect(await steps()).toMatchObject({ r: 'open', n: 'open', 'n.attempt.1': 'open' });
  });

  // Guard: it would be open with nothing to do.
  it('has its first round again where its last one is removed', async () => {
    await launch(`${step('r', RETRY)}${step('c')}`);
    await end('r.attempt.1', 'fail', { 'gc.failure_class': 'hard' });
    await open('r');
    const attempt = await idOf('r.attempt.1');
    await h.run((work) => work.remove(attempt));
    expect(await steps()).toEqual({ r: 'open', c: 'open', 'r.attempt.1': 'open' });
    expect(await idOf('r.attempt.1')).not.toBe(attempt);
  });
});

describe('a step that has passed and is opened again', () => {
  // Guard: the run would wait for what is part of a scope that has failed.
  it.each(['', 'retry = { max_attempts = 2 }'])('opens nothing that another one has taken down: %#', async (more) => {
    const { id } = await launch(`${step('a')}${SCOPE}${member('m')}${member('n', 'needs = ["a"]', more)}${step('z')}`);
    await end('a', 'pass');
    await end('m', 'fail');
    expect(await steps()).toMatchObject({ a: 'pass', s: 'fail', n: 'skipped' });
    await open('a');
    expect(await steps()).toMatchObject({ a: 'open', s: 'fail', n: 'skipped' });
    for (const ref of ['a', 'z']) await end(ref, 'pass');
    expect(await runs.run(id)).toMatchObject({ outcome: 'fail' });
  });
});

describe('a step for which a member of a scope was skipped', () => {
  const soft = (id: string, ...lines: readonly string[]): string => step(id, 'metadata = { "gc.scope_ref" = "s" }', ...lines);

  // Guard: the run would wait for what is part of a scope that has ended.
  it.each([
    ['failed', member, 'fail', 'fail'],
    ['failed when all members were done', soft, 'fail', 'fail'],
    ['was skipped', member, 'skipped', 'skipped'],
  ])('leaves it skipped while its scope stays as it has ended since: it %s', async (_, part, outcome, scope) => {
    await launch(`${step('x')}${SCOPE}${part('m')}${part('n', 'needs = ["x"]')}${step('z')}`);
    if (outcome === 'skipped') await end('m', outcome);
    await end('x', 'fail');
    if (outcome === 'fail') await end('m', outcome);
    expect(await steps()).toMatchObject({ x: 'fail', m: outcome, n: 'skipped', s: scope });
    await open('x');
    expect(await steps()).toMatchObject({ x: 'open', m: outcome, n: 'skipped', s: scope });
    await open('s');
    expect(await steps()).toMatchObject({ x: 'open', m: outcome, n: 'open', s: 'open' });
  });

  it('opens it with its scope, where that was skipped for the step as well', async () => {
    const { id } = await launch(`${step('x')}${SCOPE}${member('m')}${member('n', 'needs = ["x"]')}${step('z')}`);
    await end('m', 'pass');
    await end('x', 'fail');
    expect(await steps()).toMatchObject({ x: 'fail', m: 'pass', n: 'skipped', s: 'skipped' });
    await open('x');
    expect(await steps()).toMatchObject({ x: 'open', m: 'pass', n: 'open', s: 'open' });
    for (const ref of ['x', 'n', 'z']) await end(ref, 'pass');
    expect(await runs.run(id)).toMatchObject({ status: 'completed' });
  });
});

describe('a step for which hundreds were skipped', () => {
  const NUMBERS = Array.from({ length: 298 }, (_, n) => n);

  // Guards: all writers of the city wait meanwhile.
  it.each(['', step('r', 'retry = { max_attempts = 1 }')])('is opened with them in few statements: %#', async (more) => {
    const asked: string[] = [];
    const counted = new Db({ dialect: new BeginningDialect({ pool: fixture.pool }), log: ({ query }) => void asked.push(query.sql) });
    const work = new WorkService(new Transactions(counted, fixture.failpoints), fixture.eventLog, new WorkRepository());
    const counting = launches(fixture, work);
    const many = NUMBERS.map((n) => step(`n${n}`, `needs = ["${n % 2 === 0 ? 'a' : `n${n - 1}`}"]`)).join('');
    const text = `${HEAD}${step('a')}${many}${step('o')}${more}`;
    const run = await counting.launch({ recipe: recipeOf(text), target: 'mayor' });
    const a = await idOf('a');
    const outside = await h.create();
    await h.edge(outside, await idOf('n0'));
    const { name: city, streamId } = fixture.city;
    const session = { id: 'deacon', pk: 1, city, streamId, agentName: 'deacon', names: ['deacon'] };
    const change = (status: 'open' | 'closed', metadata?: Record<string, string>) =>
      work.run(fixture.city, { actor: 'tester', session }, (w) => w.update(a, { status, metadata }));
    await change('closed', { 'gc.outcome': 'fail' });
    expect(await h.bead(outside)).toMatchObject({ open_blockers: 0 });
    const before = await h.bead(await idOf('n1'));
    asked.length = 0;
    const events = await h.eventsOf(() => change('open'));
    expect(asked.length).toBeLessThan(40);
    expect(events.filter((event) => event.startsWith('bead.updated'))).toHaveLength(300);
    expect(new Set(events).size).toBe(events.length);
    expect(events[0]).toBe(`bead.updated ${a}`);
    const { rows } = await sql<{ status: string; open_blockers: number; n: number }>`
      select status, open_blockers, count(*)::integer as n from beads where run_id = ${run.id} and ref ~ '^f.n[0-9]' group by 1, 2`.execute(
      fixture.db,
    );
    expect(rows).toEqual([{ status: 'open', open_blockers: 1, n: 298 }]);
    const after = await h.bead(before.id);
    expect(after).toMatchObject({ claim_fence: before.claim_fence + 1, revision: before.revision + 1, snapshot: { status: 'open' } });
    expect(after.metadata).toEqual(
      Object.fromEntries(Object.entries(before.metadata).filter(([key]) => !isSaid(key) && key !== 'close_reason')),
    );
    expect(await h.bead(outside)).toMatchObject({ open_blockers: 1 });
    expect(await runs.run(run.id)).toMatchObject({ closed: 0 });
  });
});

describe('a step that somebody has skipped himself', () => {
  // Guard: what a person has decided stays so.
  it.each(['', step('r', 'retry = { max_attempts = 1 }')])('stays so when what it waits for is opened again: %#', async (more) => {
    const byHand = ['b', 'e'].map((id) => step(id, 'needs = ["a"]')).join('');
    await launch(`${step('a')}${byHand}${step('c', 'needs = ["a"]')}${step('d', 'needs = ["c"]')}${step('o')}${more}`);
    await end('b', 'skipped', { close_reason: 'nobody needs it' });
    await end('e', 'skipped', { close_reason: 'the deploy failed' });
    await end('a', 'fail');
    expect(await steps()).toMatchObject({ a: 'fail', b: 'skipped', e: 'skipped', c: 'skipped', d: 'skipped' });
    await open('a');
    expect(await steps()).toMatchObject({ a: 'open', b: 'skipped', e: 'skipped', c: 'open', d: 'open' });
    // Opened for it and skipped by hand then: that counts, also with words that a run might say.
    await end('c', 'skipped', { close_reason: 'the build failed' });
    await end('a', 'fail');
    await open('a');
    expect(await steps()).toMatchObject({ a: 'open', c: 'skipped', d: more === '' ? 'open' : 'skipped' });
  });

  it('stays so where the release before has left what it was skipped for', async () => {
    await launch(`${step('a')}${step('b', 'needs = ["a"]')}${step('o')}${step('r', 'retry = { max_attempts = 1 }')}`);
    const b = await idOf('b');
    await end('b', 'skipped', { 'gc.skipped_for': await idOf('a') });
    await end('a', 'fail');
    expect((await h.bead(b)).metadata).toMatchObject({ 'gc.skipped_for': await idOf('a') });
    await open('a');
    expect(await steps()).toMatchObject({ a: 'open', b: 'skipped' });
  });

  it('is told from what the release before has skipped', async () => {
    await launch(`${step('a')}${step('b', 'needs = ["a"]')}${step('o')}`);
    await end('a', 'fail');
    await sql`update beads set metadata = metadata - 'gc.skipped_for'`.execute(fixture.db);
    await open('a');
    expect(await steps()).toMatchObject({ a: 'open', b: 'open' });
  });
});
