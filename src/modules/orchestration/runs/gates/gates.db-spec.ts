import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { sql } from 'kysely';
import { ANYBODY } from '../../../../contract/principal.js';
import { workFixture, type WorkFixture } from '../../../../../test/support/work.js';
import { AppLogger, createLogger } from '../../../../platform/logging/logger.js';
import { ConvoyNotices } from '../../../work/mail/convoy-notices.js';
import { hands } from '../../sling/testing/slings.js';
import type { RunRow } from '../run-row.js';
import { launches, recipeOf, type Launches } from '../testing/launches.js';
import { GatesRepository } from './gates.repository.js';

let fixture: WorkFixture;
let runs: Launches;
let h: ReturnType<typeof hands>;
beforeEach(async () => {
  fixture = await workFixture();
  runs = launches(fixture);
  h = hands(fixture);
});
afterEach(() => fixture.close());

const gated = (gate: string, more = ''): string => `formula = "gated"
${more}
[[steps]]
id = "a"
title = "A"
[[steps]]
id = "b"
title = "B"
needs = ["a"]
gate = { ${gate} }
`;
const V2 = '[requires]\nformula_compiler = ">=2.0.0"';
const launch = (text: string): Promise<RunRow> => runs.launch({ recipe: recipeOf(text), target: 'mayor' });
const idOf = async (run: RunRow, ref: string): Promise<string> => {
  const { rows } = await sql<{ id: string }>`select id from beads where run_id = ${run.id} and ref = ${`gated.${ref}`}`.execute(fixture.db);
  return rows[0]!.id;
};
const done = async (run: RunRow, ref: string): Promise<unknown> => h.close(await idOf(run, ref));
const statusOf = async ({ id }: RunRow): Promise<string> => (await runs.run(id))!.status;
/** As if its time had run out, just now. */
const late = (): Promise<unknown> =>
  sql`
    update run_controls set armed_at = armed_at - interval '1 day',
      due_at = case when due_at is not null then greatest(due_at - interval '1 day', clock_timestamp() - interval '1 second') end`.execute(
    fixture.db,
  );

describe('a gate', () => {
  it('of a timer opens by itself once its time is over, which begins when it is reached', async () => {
    const run = await launch(gated('type = "timer", timeout = "1h"'));
    await late();
    expect(await runs.sweep()).toBe(0);
    await done(run, 'a');
    expect([await statusOf(run), await runs.sweep()]).toEqual(['waiting', 0]);
    await late();
    expect(await h.eventsOf(() => runs.sweep())).toEqual([
      `bead.closed ${await idOf(run, 'gate-b')}`,
      `bead.updated ${await idOf(run, 'b')}`,
    ]);
    expect(await statusOf(run)).toBe('active');
    expect((await h.bead(await idOf(run, 'gate-b'))).metadata).toMatchObject({ close_reason: 'gate: its time is over' });
    await done(run, 'b');
    expect(await statusOf(run)).toBe('completed');
  });

  it('of a first step is waited for from the launch on', async () => {
    const run = await launch('formula = "gated"\n[[steps]]\nid = "b"\ntitle = "B"\ngate = { type = "timer", timeout = "1h" }\n');
    expect(run.status).toBe('waiting');
    await late();
    expect([await runs.sweep(), await statusOf(run)]).toEqual([1, 'active']);
  });

  it('of a message opens with one from that address, and with no other', async () => {
    const run = await launch(gated('type = "mail", id = "deacon"'));
    const mail = (from: string) => runs.sending.send(fixture.city, { to: 'mayor', subject: 'x', from }, undefined, ANYBODY);
    await mail('deacon');
    await done(run, 'a');
    await mail('human');
    expect(await statusOf(run)).toBe('waiting');
    await mail('deacon');
    expect(await statusOf(run)).toBe('active');
  });

  // Guard: who answers for people opens nothing by that: a key of a program has their mailbox, too.
  it('of a message from people opens with what is signed so, and not with what anybody sends', async () => {
    const run = await launch(gated('type = "mail", id = "human"'));
    const mail = (more: object) => runs.sending.send(fixture.city, { to: 'mayor', subject: 'x', ...more }, undefined, ANYBODY);
    await done(run, 'a');
    await mail({});
    expect(await statusOf(run)).toBe('waiting');
    await mail({ from: 'human' });
    expect(await statusOf(run)).toBe('active');
  });

  // Guard: the notice that a convoy has closed is no message of whoever has closed it.
  it('of a message opens with no notice of a convoy', async () => {
    new ConvoyNotices(fixture.work, runs.sending, new AppLogger(createLogger('silent'))).onModuleInit();
    const run = await launch(gated('type = "mail", id = "deacon"'));
    await done(run, 'a');
    const member = await h.create();
    await h.run(async (work) => {
      const convoy = await work.create({ rig: '', title: 'please push', type: 'convoy', metadata: { 'convoy.notify': 'mayor' } });
      await work.putEdge({ issue_id: convoy.id, depends_on_id: member, type: 'tracks' });
    });
    const { index } = await fixture.work.run(fixture.city, 'deacon', (work) => work.close(member));
    expect((await fixture.events()).find(({ type }) => type === 'mail.sent')).toMatchObject({ seq: index, actor: 'reconciler' });
    expect(await statusOf(run)).toBe('waiting');
  });

  it('of a run opens when that is completed, also when it was before, and fails when it has ended otherwise', async () => {
    const other = await launch(gated('type = "human", id = "x"'));
    const [waiting, failing] = [
      await launch(gated(`type = "run", id = "${other.id}"`)),
      await launch(gated(`type = "run", id = "${other.id}", timeout = "1h"`)),
    ];
    await done(failing, 'a');
    expect([await runs.sweep(), await statusOf(failing)]).toEqual([0, 'waiting']);
    await late();
    expect([await runs.sweep(), await statusOf(failing)]).toEqual([1, 'failed']);
    await done(waiting, 'a');
    expect([await runs.sweep(), await statusOf(waiting)]).toEqual([0, 'waiting']);
    for (const ref of ['a', 'gate-b', 'b']) await done(other, ref);
    expect([await statusOf(other), await statusOf(waiting)]).toEqual(['completed', 'active']);
    const after = await launch(gated(`type = "run", id = "${other.id}"`));
    await done(after, 'a');
    expect([await runs.sweep(), await statusOf(after)]).toEqual([1, 'active']);
    const upon = await launch(gated(`type = "run", id = "${after.id}"`));
    await done(upon, 'a');
    await h.run((work) => runs.endings.end(work, after, { outcome: 'canceled', reason: 'no more' }));
    expect(await runs.run(upon.id)).toMatchObject({
      status: 'failed',
      error_code: 'gate_failed',
      error_message: `run ${after.id} has ended: canceled`,
    });
  });

  // Guard: a run ends whatever is wrong with one that waits for it.
  it('of a run keeps it from ending by nothing that fails, and is looked at again', async () => {
    const other = await launch(gated('type = "human", id = "x"'));
    const all = [await launch(gated(`type = "run", id = "${other.id}"`)), await launch(gated(`type = "run", id = "${other.id}"`))];
    for (const each of all) await done(each, 'a');
    expect(await runs.sweep()).toBe(0);
    const find = runs.repository.find.bind(runs.repository);
    const broken = jest.spyOn(runs.repository, 'find').mockImplementation(async (tx, streamId, id) => {
      if (id === all[0]!.id) throw new Error('it cannot go on');
      return find(tx, streamId, id);
    });
    for (const ref of ['a', 'gate-b', 'b']) await done(other, ref);
    broken.mockRestore();
    expect([await statusOf(other), await statusOf(all[0]!), await statusOf(all[1]!)]).toEqual(['completed', 'waiting', 'active']);
    expect([await runs.sweep(), await statusOf(all[0]!)]).toEqual([1, 'active']);
  });

  // Guard: the city's other writers get in between.
  it('of a timer open in several transactions where that takes long', async () => {
    const all: string[] = [];
    const text = 'formula = "gated"\n[[steps]]\nid = "b"\ntitle = "B"\ngate = { type = "timer", timeout = "1h" }\n';
    for (let n = 0; n < 3; n++) all.push((await launch(text)).id);
    await late();
    const looks = jest.spyOn(GatesRepository.prototype, 'armed');
    let now = 0;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => (now += 1_000));
    expect([await runs.sweep(), looks.mock.calls.length]).toEqual([3, 3]);
    clock.mockRestore();
    looks.mockRestore();
    for (const id of all) expect((await runs.run(id))!.status).toBe('active');
  });

  // Guard: the city's other writers wait for whoever ends a run, and any number of gates may wait for that.
  it.each(['each for one', 'one for the other'])('of many runs open some in a transaction: %s', async (how) => {
    const text = (id: string) => `formula = "gated"\n[[steps]]\nid = "b"\ntitle = "B"\ngate = { type = "run", id = "${id}" }\n`;
    const first = await launch(gated('type = "human", id = "x"'));
    const all: string[] = [];
    for (let n = 0; n < 22; n++) all.push((await launch(text(how === 'each for one' ? first.id : (all.at(-1) ?? first.id)))).id);
    const waiting = async (): Promise<number> =>
      (await Promise.all(all.map(async (id) => (await runs.run(id))!.status))).filter((status) => status === 'waiting').length;
    expect([await runs.sweep(), await waiting()]).toEqual([0, 22]);
    await h.run((work) => runs.endings.end(work, first, { outcome: 'canceled', reason: 'no more' }));
    expect(await waiting()).toBe(2);
    await runs.sweep();
    expect(await waiting()).toBe(0);
  });

  it('ends once, also when one before it has ended the run of both', async () => {
    const run = await launch(`formula = "gated"
[[steps]]
id = "b"
title = "B"
gate = { type = "human", id = "x", timeout = "1h" }
[[steps]]
id = "c"
title = "C"
gate = { type = "human", id = "x", timeout = "1h" }
`);
    await late();
    expect([await runs.sweep(), await statusOf(run)]).toEqual([1, 'failed']);
    const gates = await Promise.all(['gate-b', 'gate-c'].map(async (ref) => h.bead(await idOf(run, ref))));
    expect(gates.map(({ metadata }) => metadata['gc.outcome']).toSorted()).toEqual(['fail', 'skipped']);
  });

  // Guard: what is not there is not waited for.
  it('of a run that is not there, or not there any more, fails', async () => {
    const other = await launch(gated('type = "human", id = "x"'));
    for (const ref of ['a', 'gate-b', 'b']) await done(other, ref);
    const waiting = [other.id, 'al-99'].map((id) => launch(gated(`type = "run", id = "${id}"`)));
    await sql`delete from runs where id = ${other.id}`.execute(fixture.db);
    for (const run of await Promise.all(waiting)) {
      await done(run, 'a');
      expect(await runs.sweep()).toBe(1);
      expect(await runs.run(run.id)).toMatchObject({
        status: 'failed',
        error_code: 'gate_failed',
        error_message: expect.stringMatching(/^there is no run al-/),
      });
    }
  });

  // Guard: who waits for a run is told when it is removed.
  it('of a run whose root is removed while it goes on fails', async () => {
    const other = await launch(gated('type = "human", id = "x"'));
    const run = await launch(gated(`type = "run", id = "${other.id}"`));
    await done(run, 'a');
    expect([await runs.sweep(), await statusOf(run)]).toEqual([0, 'waiting']);
    await h.run((work) => work.remove(other.id));
    expect([await runs.sweep(), await statusOf(run)]).toEqual([1, 'failed']);
    expect(await runs.run(run.id)).toMatchObject({ error_code: 'gate_failed', error_message: `there is no run ${other.id}` });
  });

  it('of a person opens with its bead, and fails what needs it when its time is over or its answer is no', async () => {
    const yes = await launch(gated('type = "human", id = "x", timeout = "1h"', V2));
    await done(yes, 'a');
    await done(yes, 'gate-b');
    await late();
    expect([await runs.sweep(), await statusOf(yes)]).toEqual([0, 'active']);
    const answers = [
      () => late().then(() => runs.sweep()),
      async (no: RunRow) => h.change(await idOf(no, 'gate-b'), { status: 'closed', metadata: { 'gc.outcome': 'fail' } }),
    ];
    for (const answer of answers) {
      const no = await launch(gated('type = "human", id = "x", timeout = "1h"', V2));
      await done(no, 'a');
      await answer(no);
      expect(await statusOf(no)).toBe('failed');
      expect((await h.bead(await idOf(no, 'b'))).metadata).toMatchObject({ 'gc.outcome': 'skipped' });
    }
  });

  it('in a round of a loop is armed as any other', async () => {
    const body = `[{ id = "b", title = "B", gate = { type = "timer", timeout = "1h" } }]`;
    const loop = `loop = { until = "steps.complete >= 1", max = 2, body = ${body} }`;
    const run = await launch(`formula = "gated"\n${V2}\n[[steps]]\nid = "a"\ntitle = "A"\n${loop}\n`);
    expect(run).toMatchObject({ status: 'waiting', gates: 1 });
    await late();
    expect([await runs.sweep(), await statusOf(run)]).toEqual([1, 'active']);
  });

  it('is decided once by any number of workers', async () => {
    const run = await launch(gated('type = "timer", timeout = "1h"'));
    await done(run, 'a');
    await late();
    const others = [launches(fixture, fixture.another()), launches(fixture, fixture.another())];
    const sweeps = await Promise.all(others.map((each) => each.sweep()));
    expect(sweeps.sort()).toEqual([0, 1]);
    expect(await statusOf(run)).toBe('active');
  });
});
