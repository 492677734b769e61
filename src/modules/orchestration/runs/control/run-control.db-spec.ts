import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { sql } from 'kysely';
import { plansOf, rowsRead } from '../../../../../test/support/plans.js';
import { workFixture, type WorkFixture } from '../../../../../test/support/work.js';
import type { Db } from '../../../../platform/database/database.js';
import type { Tx } from '../../../../platform/database/transactions.js';
import { stepOf } from '../../../work/work/fan-out.js';
import { FanOutsRepository } from '../../../work/work/fan-outs.repository.js';
import { HeldRepository } from '../../../work/work/held.repository.js';
import type { Work } from '../../../work/work/work.js';
import { RunControlRepository } from './control.repository.js';
import { ANYBODY } from '../../../../contract/principal.js';
import { DependenciesRepository } from '../../../work/dependencies/dependencies.repository.js';
import { DependenciesService } from '../../../work/dependencies/dependencies.service.js';
import { launches, recipeOf, type Launches } from '../testing/launches.js';

let fixture: WorkFixture;
let runs: Launches;
beforeEach(async () => {
  fixture = await workFixture();
  runs = launches(fixture);
});
afterEach(() => fixture.close());

const HEAD = 'formula = "f"\n[requires]\nformula_compiler = ">=2.0.0"\n';
const launch = (steps: string): Promise<{ id: string }> => runs.launch({ recipe: recipeOf(HEAD + steps), target: 'polecat' });

interface Row {
  readonly id: string;
  readonly ref: string;
  readonly status: string;
  readonly type: string;
  readonly ready: boolean;
  readonly metadata: Readonly<Record<string, string>>;
}

const rows = async (): Promise<Row[]> => {
  const found = await sql<Row>`
    select id, ref, status, issue_type as type, bead_is_ready(b) as ready, metadata from beads b where run_id is not null order by length(id), id`.execute(
    fixture.db,
  );
  return found.rows;
};

/** Each step of the run with what it is at: `ready`, `open`, or how it ended. */
const steps = async (): Promise<Record<string, string>> =>
  Object.fromEntries(
    (await rows())
      .slice(1)
      .map(({ ref, status, ready, metadata }) => [
        ref.slice('f.'.length),
        status === 'closed' ? (metadata['gc.outcome'] ?? 'done') : ready ? 'ready' : 'open',
      ]),
  );

/** An agent ends a step. */
async function end(ref: string, metadata: Record<string, string> = {}): Promise<void> {
  const { id } = (await rows()).find((row) => row.ref === `f.${ref}`)!;
  await fixture.work.run(fixture.city, 'agent', (work) => work.update(id, { status: 'closed', metadata }));
}

describe('a run that decides', () => {
  it('is not looked for with each step that it ends itself', async () => {
    const many = Array.from({ length: 20 }, (_, n) => n + 1);
    const gates = many.map(
      (n) => `[[steps]]\nid = "s${n}"\ntitle = "S"\nneeds = ["a"]\n[[compose.gate]]\nbefore = "s${n}"\ncondition = "steps.complete >= 1"\n`,
    );
    await launch(`[[steps]]\nid = "a"\ntitle = "A"\n${gates.join('')}`);
    const at = (await fixture.events()).at(-1)!.seq;
    const asked = jest.spyOn(runs.repository, 'find');
    await end('a');
    expect(await steps()).toMatchObject({ 'gate-s1': 'pass', 'gate-s20': 'pass', s20: 'ready' });
    expect(asked.mock.calls.length).toBeLessThan(5);
    const told = (await fixture.events(at)).filter(({ type }) => type === 'execution.step_completed');
    expect(new Set(told.map(({ subject }) => subject)).size).toBe(21);
    expect(told).toHaveLength(21);
  });

  // Guard: what is read of a run of thousands of steps would grow with the square of them, each time that one ends.
  it('reads each of its steps once or twice, also where other runs are small', async () => {
    for (let n = 0; n < 40; n++) await launch('[[steps]]\nid = "a"\ntitle = "A"\nretry = { max_attempts = 2 }\n');
    await sql`analyze beads, bead_dependencies, run_steps, run_checks`.execute(fixture.db);
    const chain = Array.from(
      { length: 100 },
      (_, n) => `[[steps]]\nid = "s${n}"\ntitle = "S"\n${n === 0 ? '' : `needs = ["s${n - 1}"]\n`}`,
    );
    const checked = Array.from(
      { length: 10 },
      (_, n) =>
        `[[steps]]\nid = "c${n}"\ntitle = "C"\ncheck = { max_attempts = 2, check = { mode = "exec", path = "../assets/green.sh" } }\n`,
    );
    const { id } = await launch(chain.join('') + checked.join(''));
    await end('c0.iteration.1');
    const { streamId } = fixture.city;
    const look = (db: Db): Promise<unknown> => new RunControlRepository().facts(db as unknown as Tx, streamId, id, { texts: false });
    expect(await look(fixture.db)).toMatchObject({ steps: expect.arrayContaining([expect.objectContaining({ asked: 1 })]) });
    const read = await plansOf(fixture.pool, look);
    expect(rowsRead(read, 'run_steps')).toBeLessThanOrEqual(2 * 120);
    expect(rowsRead(read, 'run_checks')).toBe(1);
  });

  // Guards: a run may have 16 MiB of texts, which would all be read with each step that ends; and one that is full would get more.
  it('reads what its steps say only where a round is due', async () => {
    const long = 'y'.repeat(2_000);
    await launch(
      `[[steps]]\nid = "a"\ntitle = "A"\ndescription = "${long}"\n[[steps]]\nid = "r"\ntitle = "R"\ndescription = "${long}"\nneeds = ["a"]\nretry = { max_attempts = 2 }\n[[steps]]\nid = "z"\ntitle = "Z"\n`,
    );
    const looks = jest.spyOn(RunControlRepository.prototype, 'facts');
    const seen = async (): Promise<number[][]> => {
      const runs = await Promise.all(looks.mock.results.map(({ value }) => value as ReturnType<RunControlRepository['facts']>));
      looks.mockClear();
      return runs.map((run) => run!.steps.map(({ step }) => step.description.length));
    };
    await end('z');
    expect(await seen()).toEqual([[0, 2_000, 0]]);
    await end('a');
    expect(await seen()).toEqual([
      [0, 2_000, 0],
      [2_000, 2_000, 0],
      [0, 2_000, 0, 0],
    ]);
    expect((await rows()).find(({ ref }) => ref === 'f.r.attempt.1')).toMatchObject({ ready: true });
    looks.mockRestore();
  });

  it('tries again, and goes on with what passed', async () => {
    const { id } = await launch(
      '[[steps]]\nid = "a"\ntitle = "A"\ndescription = "Do it."\ntags = ["x"]\nretry = { max_attempts = 2 }\n[[steps]]\nid = "b"\ntitle = "B"\nneeds = ["a"]\n',
    );
    expect(await steps()).toEqual({ a: 'open', b: 'open', 'a.attempt.1': 'ready' });
    await end('a.attempt.1', { 'gc.outcome': 'fail', 'gc.failure_class': 'transient' });
    expect(await steps()).toEqual({ a: 'open', b: 'open', 'a.attempt.1': 'fail', 'a.attempt.2': 'ready' });
    const again = (await rows()).find(({ ref }) => ref === 'f.a.attempt.2')!;
    expect(again.metadata).toMatchObject({
      'gc.attempt': '2',
      'gc.root_bead_id': id,
      'gc.routed_to': 'polecat',
      'gc.step_id': 'f.a.attempt.2',
    });
    await end('a.attempt.2', { 'gc.outcome': 'pass' });
    expect(await steps()).toEqual({ a: 'pass', b: 'ready', 'a.attempt.1': 'fail', 'a.attempt.2': 'pass' });
    await end('b');
    expect(await runs.run(id)).toMatchObject({ status: 'completed', steps: 4, closed: 4 });
    for (const [n, what] of [
      [0, 'the root'],
      [2, 'a step'],
    ] as const) {
      const bead = (await rows())[n]!.id;
      const reopened = fixture.work.run(fixture.city, 'somebody', (work) => work.reopen(bead));
      await expect(reopened).rejects.toThrow(`bead ${bead} is ${what} of a run that has ended`);
    }
    const refs = new Map((await rows()).map((row) => [row.id, row.ref]));
    const defined = (await fixture.events()).filter(({ type }) => type === 'execution.step_defined');
    expect(defined.map(({ subject }) => refs.get(subject!))).toEqual(['f.a', 'f.b', 'f.a.attempt.1', 'f.a.attempt.2']);
  });

  it('fails with what is used up, and does nothing that needs it', async () => {
    const { id } = await launch(
      '[[steps]]\nid = "a"\ntitle = "A"\nretry = { max_attempts = 1 }\n[[steps]]\nid = "b"\ntitle = "B"\nneeds = ["a"]\n[[steps]]\nid = "c"\ntitle = "C"\n',
    );
    await end('a.attempt.1');
    expect(await steps()).toEqual({ a: 'fail', b: 'skipped', c: 'ready', 'a.attempt.1': 'done' });
    expect(await runs.run(id)).toMatchObject({ status: 'active' });
    await end('c');
    expect(await runs.run(id)).toMatchObject({ status: 'failed', error_message: 'f.a failed' });
  });

  // Guard: nothing that happens later would begin it, and the run would stand still.
  it.each(['is taken away', 'blocks no more'])('goes on with a step of which what it waits for %s', async (how) => {
    await launch('[[steps]]\nid = "a"\ntitle = "A"\n[[steps]]\nid = "b"\ntitle = "B"\nneeds = ["a"]\nretry = { max_attempts = 2 }\n');
    const [, a, b] = await rows();
    const dependencies = new DependenciesService(new DependenciesRepository(fixture.db), fixture.work);
    if (how === 'is taken away') await dependencies.remove(fixture.city, b!.id, a!.id, ANYBODY);
    else await dependencies.add(fixture.city, b!.id, { depends_on_id: a!.id, type: 'related' }, ANYBODY);
    expect(await steps()).toEqual({ a: 'ready', b: 'open', 'b.attempt.1': 'ready' });
  });

  // Guard: it would stay open until another step ends.
  it('ends a step that has lost what it waits for, when its round has ended', async () => {
    await launch('[[steps]]\nid = "a"\ntitle = "A"\n[[steps]]\nid = "b"\ntitle = "B"\nretry = { max_attempts = 2 }\n');
    const [, a, b] = await rows();
    const dependencies = new DependenciesService(new DependenciesRepository(fixture.db), fixture.work);
    await dependencies.add(fixture.city, b!.id, { depends_on_id: a!.id, type: 'blocks' }, ANYBODY);
    await end('b.attempt.1', { 'gc.outcome': 'pass' });
    expect(await steps()).toMatchObject({ b: 'open' });
    await dependencies.remove(fixture.city, b!.id, a!.id, ANYBODY);
    expect(await steps()).toMatchObject({ a: 'ready', b: 'pass' });
  });

  describe('and waits for what is outside it', () => {
    const outside = () =>
      fixture.work.run(fixture.city, 'somebody', (work) => work.create({ rig: '', title: 'x' })).then(({ value }) => value.id);
    const wait = async (id: string): Promise<void> => {
      const dependencies = new DependenciesService(new DependenciesRepository(fixture.db), fixture.work);
      await dependencies.add(
        fixture.city,
        (await rows()).find(({ ref }) => ref === 'f.b')!.id,
        { depends_on_id: id, type: 'blocks' },
        ANYBODY,
      );
    };
    const change = (body: (work: Work) => Promise<unknown>) => fixture.work.run(fixture.city, 'somebody', body);
    const B = '[[steps]]\nid = "b"\ntitle = "B"\nneeds = ["a"]\n';
    const launched = async (how: string): Promise<string> => {
      const { id } = await launch(`[[steps]]\nid = "a"\ntitle = "A"\n${B}${how}`);
      return id;
    };

    // Guard: somebody would be offered what waits, or nobody ever what waits no more.
    it.each<[string, (work: Work, id: string) => Promise<unknown>]>([
      ['is closed', (work, id) => work.close(id)],
      ['is closed with others', (work, id) => work.closeAll([id], {})],
      ['is removed', (work, id) => work.remove(id)],
    ])('begins once that %s', async (_, end_) => {
      await launched('retry = { max_attempts = 2 }\n');
      const [x, y] = [await outside(), await outside()];
      await wait(x);
      await wait(y);
      await end('a');
      await change((work) => end_(work, x));
      expect(await steps()).toEqual({ a: 'done', b: 'open' });
      await change((work) => end_(work, y));
      expect(await steps()).toEqual({ a: 'done', b: 'open', 'b.attempt.1': 'ready' });
    });

    it('begins no other attempt meanwhile, nor ends', async () => {
      const id = await launched('retry = { max_attempts = 2 }\n');
      await end('a');
      const x = await outside();
      await wait(x);
      await end('b.attempt.1', { 'gc.outcome': 'fail', 'gc.failure_class': 'transient' });
      expect(await steps()).toEqual({ a: 'done', b: 'open', 'b.attempt.1': 'fail' });
      await change((work) => work.close(x));
      expect(await steps()).toMatchObject({ 'b.attempt.2': 'ready' });
      await change((work) => work.reopen(x));
      await end('b.attempt.2', { 'gc.outcome': 'pass' });
      expect(await steps()).toMatchObject({ b: 'open' });
      await change((work) => work.close(x));
      expect(await runs.run(id)).toMatchObject({ status: 'completed' });
    });

    it('begins when a worker comes to it, where many wait for one bead', async () => {
      await launched('retry = { max_attempts = 2 }\n');
      const x = await outside();
      await wait(x);
      await end('a');
      fixture.work.limits = { few: 0, step: 1 };
      await change((work) => work.close(x));
      expect(await steps()).toEqual({ a: 'done', b: 'open' });
      await change((work) => stepOf(work, new FanOutsRepository(fixture.db), x, 'worker', 1));
      expect(await steps()).toMatchObject({ 'b.attempt.1': 'ready' });
    });

    // Guard: the run would stand still for good.
    it('begins while those behind a step of its own are still told', async () => {
      await launched('retry = { max_attempts = 2 }\n');
      const [y, a] = [await outside(), (await rows()).find(({ ref }) => ref === 'f.a')!.id];
      await wait(y);
      fixture.work.limits = { few: 0, step: 1 };
      await end('a');
      fixture.work.limits = { few: 300, step: 300 };
      await change((work) => work.close(y));
      await change((work) => stepOf(work, new FanOutsRepository(fixture.db), a, 'worker', 1));
      expect(await steps()).toEqual({ a: 'done', b: 'open', 'b.attempt.1': 'ready' });
    });

    // Guards: nobody could close a bead because of what is wrong with the run of somebody else, nor would others behind it be told.
    it.each(['by who closes it', 'by a worker'])('keeps nothing open, and nobody from being told, by what fails: %s', async (how) => {
      const x = await outside();
      const all: { run: string; a: string; b: string }[] = [];
      for (let n = 0; n < 3; n++) {
        const run = await launched('retry = { max_attempts = 2 }\n');
        const [a, b] = (await rows()).slice(-2).map(({ id }) => id);
        await change((work) => work.putEdge({ issue_id: b!, depends_on_id: x, type: 'blocks' }));
        await change((work) => work.close(a!));
        all.push({ run, a: a!, b: b! });
      }
      const begun = async (): Promise<unknown[]> =>
        (await rows()).flatMap(({ ref, metadata }) => (ref === 'f.b.attempt.1' ? [metadata['gc.logical_bead_id']] : [])).sort();
      if (how === 'by a worker') fixture.work.limits = { few: 0, step: 3 };
      const find = runs.repository.find.bind(runs.repository);
      const broken = jest.spyOn(runs.repository, 'find').mockImplementation(async (tx, streamId, id) => {
        if (id === all[1]!.run) await sql`select 1 / 0`.execute(tx);
        return find(tx, streamId, id);
      });
      await change((work) => work.close(x));
      if (how === 'by a worker') await change((work) => stepOf(work, new FanOutsRepository(fixture.db), x, 'worker', 3));
      broken.mockRestore();
      expect(await begun()).toEqual([all[0]!.b, all[2]!.b].sort());
      await sql`update run_continuations set due_at = clock_timestamp()`.execute(fixture.db);
      expect([await runs.sweepContinuations(), await begun()]).toEqual([1, all.map(({ b }) => b).sort()]);
    });

    // Guards: the city's other writers wait for whoever closes it.
    it('leaves runs to workers once it has been at others for long', async () => {
      const x = await outside();
      for (let n = 0; n < 3; n++) {
        await launched('retry = { max_attempts = 2 }\n');
        const [a, b] = (await rows()).slice(-2);
        await change((work) => work.putEdge({ issue_id: b!.id, depends_on_id: x, type: 'blocks' }));
        await change((work) => work.close(a!.id));
      }
      const begun = async (): Promise<number> => (await rows()).filter(({ ref }) => ref === 'f.b.attempt.1').length;
      Object.assign(runs.limits, { ms: 500, rest: () => 0 });
      const asked = [
        jest.spyOn(HeldRepository.prototype, 'decidedAmong'),
        jest.spyOn(runs.repository, 'find'),
        jest.spyOn(RunControlRepository.prototype, 'goOnLater'),
      ];
      let now = 0;
      const clock = jest.spyOn(performance, 'now').mockImplementation(() => (now += 1_000));
      await change((work) => work.close(x));
      clock.mockRestore();
      // However many there are, it asks nothing about each of them.
      expect(asked.map((each) => each.mock.calls.length)).toEqual([1, 1, 1]);
      for (const each of asked) each.mockRestore();
      expect(await begun()).toBe(1);
      expect([await runs.sweepContinuations(), await runs.sweepContinuations(), await begun()]).toEqual([1, 1, 3]);
    });

    it('hears of what another run closes with others', async () => {
      const gated = (n: number): string =>
        `[[steps]]\nid = "s${n}"\ntitle = "S"\nneeds = ["z"]\n[[compose.gate]]\nbefore = "s${n}"\ncondition = "steps.complete >= 1"\n`;
      await launch(`[[steps]]\nid = "z"\ntitle = "Z"\n${gated(1)}${gated(2)}`);
      const gate = (await rows()).find(({ ref }) => ref === 'f.gate-s1')!.id;
      await launched('retry = { max_attempts = 2 }\n');
      await wait(gate);
      await end('a');
      expect(await steps()).toMatchObject({ b: 'open' });
      await end('z');
      expect(await steps()).toMatchObject({ 'gate-s1': 'pass', 'b.attempt.1': 'ready' });
    });
  });

  it('takes a scope down with the member that fails, and cleans up', async () => {
    const { id } = await launch(`
[[steps]]
id = "s"
title = "S"
metadata = { "gc.kind" = "scope" }
[[steps]]
id = "m"
title = "M"
metadata = { "gc.scope_ref" = "s", "gc.on_fail" = "abort_scope" }
[[steps]]
id = "n"
title = "N"
metadata = { "gc.scope_ref" = "s" }
retry = { max_attempts = 3 }
[[steps]]
id = "t"
title = "T"
metadata = { "gc.kind" = "cleanup", "gc.scope_ref" = "s", "gc.scope_role" = "teardown" }
`);
    expect(await steps()).toEqual({ m: 'ready', n: 'open', s: 'open', t: 'open', 'n.attempt.1': 'ready' });
    await end('m', { 'gc.outcome': 'fail' });
    expect(await steps()).toEqual({ m: 'fail', n: 'skipped', s: 'fail', t: 'ready', 'n.attempt.1': 'skipped' });
    expect(await runs.run(id)).toMatchObject({ status: 'active' });
    await end('t');
    expect(await runs.run(id)).toMatchObject({ status: 'failed', error_message: 'f.s failed' });
  });

  it('goes round until it holds', async () => {
    const { id } = await launch(
      '[[steps]]\nid = "a"\ntitle = "A"\nloop = { until = "step.output.ok == true", max = 3, body = [{ id = "b", title = "B" }] }\n',
    );
    await end('a.iter1.b', { 'gc.output_json': '{"ok":false}' });
    expect(await steps()).toEqual({ a: 'open', 'a.iter1.b': 'done', 'a.iter2.b': 'ready' });
    await end('a.iter2.b', { 'gc.output_json': '{"ok":true}' });
    expect(await runs.run(id)).toMatchObject({ status: 'completed', steps: 3 });
  });

  it('reads of what steps have handed on only what may decide something', async () => {
    const { id } = await launch(
      `[[steps]]\nid = "x"\ntitle = "X"\n[[steps]]\nid = "a"\ntitle = "A"\nloop = { until = "step.output.ok == true", max = 3, body = [{ id = "b", title = "B" }, { id = "c", title = "C" }] }\n`,
    );
    await end('x', { 'gc.output_json': '{"x":1}' });
    await end('a.iter1.b', { 'gc.output_json': '{"b":1}' });
    await end('a.iter1.c', { 'gc.output_json': '{"ok":false}' });
    const { streamId } = fixture.city;
    const facts = await fixture.db.transaction().execute((tx) => new RunControlRepository().facts(tx, streamId, id, { texts: false }));
    const outputs = Object.fromEntries(facts!.steps.map(({ step, ended }) => [step.id, ended?.output]));
    // The last step of the second round is the one that the loop asks for next.
    expect(outputs).toEqual(Object.fromEntries(facts!.steps.map(({ step }) => [step.id, undefined])));
    await sql`update beads set metadata = metadata || '{"gc.output_json":"{}"}' where ref = 'f.a.iter2.c'`.execute(fixture.db);
    await fixture.db.transaction().execute(async (tx) => {
      await sql`update beads set status = 'closed', closed_at = now() where ref = 'f.a.iter2.c'`.execute(tx);
      const { steps: all } = (await new RunControlRepository().facts(tx, streamId, id, { texts: false }))!;
      expect(all.flatMap(({ step, ended }) => (ended?.output === undefined ? [] : [`${step.id} ${ended.output}`]))).toEqual([
        'f.a.iter2.c {}',
      ]);
    });
  });

  const LOOK = `formula = "look"
type = "expansion"
[requires]
formula_compiler = ">=2.0.0"
[vars]
path = { required = true }
[[template]]
id = "{target}.look"
title = "Look at {path}"
metadata = { "gc.run_target" = "mayor" }
`;
  const LIST =
    '[[steps]]\nid = "a"\ntitle = "A"\non_complete = { for_each = "output.files", bond = "look", vars = { path = "{item}" }, sequential = true }\n';

  it('fans out into what a step has handed on', async () => {
    const { id } = await runs.launch({ recipe: recipeOf(HEAD + LIST, {}, { look: LOOK }), target: 'polecat' });
    await end('a', { 'gc.output_json': '{"files":["x","y"]}' });
    expect(await steps()).toEqual({ a: 'done', 'a-fanout': 'open', 'a.item.1.look': 'ready', 'a.item.2.look': 'open' });
    const items = (await rows()).slice(3);
    expect(items.map(({ metadata }) => metadata['gc.routed_to'])).toEqual(['mayor', 'mayor']);
    await end('a.item.1.look');
    await end('a.item.2.look');
    expect(await runs.run(id)).toMatchObject({ status: 'completed', steps: 4 });
  });

  it.each(['y'.repeat(501), 'a\0b', '\ud800'])(
    'fails a control whose items have no place in beads, and writes none of them: %#',
    async (item) => {
      const { id } = await runs.launch({ recipe: recipeOf(HEAD + LIST, {}, { look: LOOK }), target: 'polecat' });
      await end('a', { 'gc.output_json': JSON.stringify({ files: ['x', item] }) });
      expect(await steps()).toEqual({ a: 'done', 'a-fanout': 'fail' });
      expect(await runs.run(id)).toMatchObject({ status: 'failed', error_message: 'f.a-fanout failed' });
    },
  );

  it('opens a gate when its condition holds', async () => {
    const { id } = await launch(
      '[[steps]]\nid = "a"\ntitle = "A"\n[[steps]]\nid = "b"\ntitle = "B"\n[[compose.gate]]\nbefore = "b"\ncondition = "steps.complete >= 1"\n',
    );
    expect(await steps()).toEqual({ a: 'ready', 'gate-b': 'open', b: 'open' });
    await end('a');
    expect(await steps()).toEqual({ a: 'done', 'gate-b': 'pass', b: 'ready' });
    await end('b');
    expect(await runs.run(id)).toMatchObject({ status: 'completed' });
  });

  it('asks the step that fans out for what a round hands on', async () => {
    const loop = LIST.replace('[[steps]]', '[[steps.loop.body]]');
    const steps = `[[steps]]\nid = "l"\ntitle = "L"\n[steps.loop]\nuntil = "step.output.done == true"\nmax = 2\n${loop}`;
    const { id } = await runs.launch({ recipe: recipeOf(HEAD + steps, {}, { look: LOOK }), target: 'polecat' });
    await end('l.iter1.a', { 'gc.output_json': '{"done":true,"files":["x"]}' });
    await end('l.iter1.a.item.1.look');
    expect(await runs.run(id)).toMatchObject({ status: 'completed' });
    expect((await rows()).find(({ ref }) => ref === 'f.l')!.metadata['gc.output_json']).toBe('{"done":true,"files":["x"]}');
  });

  it('makes a round once, though two say at once that the last one is over', async () => {
    const { id } = await launch(
      '[[steps]]\nid = "a"\ntitle = "A"\nloop = { until = "steps.complete >= 3", max = 2, body = [{ id = "b", title = "B" }, { id = "c", title = "C" }] }\n',
    );
    await Promise.all([end('a.iter1.b'), end('a.iter1.c')]);
    expect(Object.keys(await steps())).toEqual(['a', 'a.iter1.b', 'a.iter1.c', 'a.iter2.b', 'a.iter2.c']);
    await Promise.all([end('a.iter2.b'), end('a.iter2.c')]);
    expect(await runs.run(id)).toMatchObject({ status: 'failed', error_message: 'f.a failed' });
  });
});
