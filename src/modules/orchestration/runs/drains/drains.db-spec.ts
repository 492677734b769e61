import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ConvoysRepository } from '../../../work/convoys/convoys.repository.js';
import { hookProcess } from '../../../work/hooks/testing/hook-process.js';
import { recipeOf } from '../testing/launches.js';
import { drain, DrainFixture, EXCLUSIVE, HEAD, ITEM, POOL, SHARED } from './testing/drain-fixture.js';

let d: DrainFixture;
beforeEach(async () => {
  d = await DrainFixture.open();
});
afterEach(() => d.close());

describe('a drain', () => {
  const failed = async (
    text: string,
    source: string,
    item = ITEM,
  ): Promise<{ reason: string | null; code: string | undefined; beads: number }> => {
    const { id, status } = await d.launch(text, source, item);
    // Nobody is asked for what is left of it: it is over as it is launched, and says so.
    expect(status).toBe('failed');
    expect(await d.runs.run(id)).toMatchObject({
      status: 'failed',
      error_code: 'fail',
      error_message: 'f.all failed',
      steps: 2,
      closed: 2,
    });
    expect(await d.steps(id)).toEqual({ all: 'fail', end: 'skipped' });
    const all = await d.rows();
    return { reason: all[0]!.reason, code: all[0]!.metadata['gc.failure_reason'], beads: all.length };
  };

  it('does its item formula for each open member of the convoy, each for itself, and goes on when all are done', async () => {
    const { convoy, members } = await d.convoyOf(3);
    await d.work((work) => work.close(members[1]!));
    const { id } = await d.launch(drain(), convoy);
    expect(await d.steps()).toEqual({
      all: 'blocked',
      end: 'blocked',
      ...{ 'all.unit.1.x': 'ready', 'all.unit.1.y': 'blocked', 'all.unit.2.x': 'ready', 'all.unit.2.y': 'blocked' },
    });
    const made = (await d.rows()).slice(2);
    expect((await d.rows())[1]!.title).toBe(`End of ${convoy}`);
    const [first, , third] = made.map(({ metadata }) => metadata);
    expect([first!['gc.drain_member_id'], third!['gc.drain_member_id']]).toEqual([members[0], members[2]]);
    const own = first!['gc.input_convoy_id']!;
    const repository = new ConvoysRepository(d.fixture.db);
    const open = await d.fixture.db.transaction().execute((tx) => repository.openMembers(tx, d.fixture.city.streamId, own, 10));
    expect(open).toEqual([members[0]]);
    const other = third!['gc.input_convoy_id']!;
    expect(new Set([convoy, own, other]).size).toBe(3);
    expect(made.map(({ title }) => title)).toEqual([
      ...[`Weigh ${members[0]}`, `Note it in ${own}`],
      ...[`Weigh ${members[2]}`, `Note it in ${other}`],
    ]);

    await d.end('all.unit.1.x');
    await d.end('all.unit.1.y');
    expect(await d.find(own)).toMatchObject({ status: 'closed' });
    expect(await d.units()).toMatchObject([
      { n: 1, outcome: 'pass' },
      { n: 2, outcome: null },
    ]);
    await d.end('all.unit.2.x');
    await d.end('all.unit.2.y');
    expect(await d.steps()).toMatchObject({ all: 'pass', end: 'ready' });
    await d.end('end');
    expect(await d.runs.run(id)).toMatchObject({ status: 'completed', steps: 6, closed: 6 });
    // Members are only read.
    expect(await d.find(members[0]!)).toMatchObject({ status: 'open', labels: [] });
  });

  it('goes on with the others when one fails, and fails in the end', async () => {
    const { convoy, members } = await d.convoyOf(2);
    const { id } = await d.launch(drain(), convoy);
    await d.end('all.unit.1.x', { 'gc.outcome': 'fail' });
    expect(await d.steps()).toMatchObject({ all: 'blocked', 'all.unit.1.y': 'skipped', 'all.unit.2.x': 'ready' });
    await d.end('all.unit.2.x');
    await d.end('all.unit.2.y');
    expect(await d.units()).toMatchObject([
      { n: 1, outcome: 'fail', reason: 'f.all.unit.1.x failed' },
      { n: 2, outcome: 'pass' },
    ]);
    expect(await d.steps()).toMatchObject({ all: 'fail', end: 'skipped' });
    expect((await d.rows())[0]!.reason).toBe(`1 of 2 units did not pass, the first of them unit 1 for ${members[0]}`);
    expect(await d.runs.run(id)).toMatchObject({ status: 'failed', error_message: 'f.all failed' });
  });

  it('in a shared context does one member after the other, for one claimant, and none after one that failed', async () => {
    const { convoy, members } = await d.convoyOf(3);
    await d.launch(drain(`${SHARED}, continuation_group = "lane"`), convoy);
    expect(await d.steps()).toMatchObject({ 'all.unit.1.x': 'ready', 'all.unit.2.x': 'blocked', 'all.unit.3.x': 'blocked' });
    expect(new Set((await d.rows()).slice(2).map(({ metadata }) => metadata['gc.continuation_group']))).toEqual(new Set(['lane']));
    await d.end('all.unit.1.x');
    await d.end('all.unit.1.y');
    expect(await d.steps()).toMatchObject({ 'all.unit.2.x': 'ready', 'all.unit.3.x': 'blocked' });
    await d.end('all.unit.2.x', { 'gc.outcome': 'fail' });
    expect(await d.units()).toMatchObject([
      { member_id: members[0], outcome: 'pass' },
      { member_id: members[1], outcome: 'fail' },
      { member_id: members[2], outcome: 'skipped', reason: 'previous_item_failed' },
    ]);
    expect(await d.steps()).toMatchObject({ all: 'fail', end: 'skipped', 'all.unit.3.x': 'skipped', 'all.unit.3.y': 'skipped' });
  });

  // Guards: what a unit has for itself would be kept from others, and units behind one that failed would be done, by what the drain waits for.
  it.each([
    ['exclusive', EXCLUSIVE, 'ready', null],
    ['shared', SHARED, 'skipped', 'skipped'],
  ])('ends its units while it waits for a bead outside its run, and itself after that: %s', async (_, how, third, end) => {
    const { convoy, members } = await d.convoyOf(3);
    await d.launch(drain(how), convoy);
    const x = await d.work((work) => work.create({ rig: '', title: 'x' }));
    await d.work(async (work) => work.putEdge({ issue_id: await d.idOf('all'), depends_on_id: x.id, type: 'blocks' }));
    for (const ref of ['x', 'y']) await d.end(`all.unit.1.${ref}`);
    await d.end('all.unit.2.x', { 'gc.outcome': 'fail' });
    expect(await d.units()).toMatchObject(['pass', 'fail', end].map((outcome) => ({ outcome, held: outcome === null })));
    expect((await d.find(members[0]!)).status).toBe(how === EXCLUSIVE ? 'closed' : 'open');
    expect(await d.steps()).toMatchObject({ all: 'blocked', 'all.unit.2.y': 'skipped', 'all.unit.3.x': third });
    if (end === null) for (const ref of ['x', 'y']) await d.end(`all.unit.3.${ref}`);
    expect(await d.steps()).toMatchObject({ all: 'blocked' });
    await d.work((work) => work.close(x.id));
    expect(await d.steps()).toMatchObject({ all: 'fail', end: 'skipped' });
  });

  it('gives all of a lane to whoever takes its first step', async () => {
    const { convoy } = await d.convoyOf(2);
    await d.launch(drain(SHARED), convoy, ITEM, POOL);
    const hook = hookProcess(d.fixture);
    const [taken, none] = await Promise.all([hook.next(`${POOL}-1`), hook.next(`${POOL}-2`)]);
    expect(taken).toMatchObject({ action: 'work', continuation_group: 'f.all' });
    expect(taken.continuation_assigned).toHaveLength(3);
    expect(none).toMatchObject({ action: 'drain' });
  });

  it('keeps the groups of its units apart in a separate context', async () => {
    const { convoy } = await d.convoyOf(2);
    const grouped = ITEM.replaceAll(/^title/gm, 'metadata = { "gc.continuation_group" = "g" }\ntitle');
    await d.launch(drain(), convoy, grouped);
    const groups = (await d.rows()).slice(2).map(({ metadata }) => metadata['gc.continuation_group']);
    expect(groups).toEqual(['f.all.unit.1:g', 'f.all.unit.1:g', 'f.all.unit.2:g', 'f.all.unit.2:g']);
  });

  it('takes no more members than it may', async () => {
    const { convoy } = await d.convoyOf(3);
    expect(await failed(drain('max_units = 2'), convoy)).toEqual({
      reason: `convoy ${convoy} has more than 2 open members, which is max_units`,
      code: 'limit_exceeded',
      beads: 2,
    });
  });

  it('makes no more steps than a run may have, and holds nothing then', async () => {
    const { convoy, members } = await d.convoyOf(6);
    const many = `formula = "item"\n${HEAD}[[steps]]\nid = "r"\ntitle = "R"\nloop = { count = 900, body = [{ id = "x", title = "X" }] }\n`;
    expect(await failed(drain(EXCLUSIVE), convoy, many)).toEqual({
      reason: 'the run has more than 5000 steps',
      code: 'limit_exceeded',
      beads: 2,
    });
    expect(await d.find(members[5]!)).toMatchObject({ status: 'open', labels: [] });
    expect((await d.units())[5]).toMatchObject({ outcome: 'skipped', reason: 'the run has more than 5000 steps' });
  });

  it('writes no more than a run may hold', async () => {
    const { convoy } = await d.convoyOf(20);
    const long = `formula = "item"\n${HEAD}[[steps]]\nid = "x"\ntitle = "X"\ndescription = "${'y'.repeat(60_000)}"\n`;
    expect(await failed(drain(), convoy, long)).toMatchObject({ code: 'limit_exceeded', beads: 2 });
  });

  it('passes over a convoy without open members', async () => {
    const { convoy, members } = await d.convoyOf(1);
    await d.work(async (work) => {
      await work.update(convoy, { addLabels: ['owned'] });
      await work.close(members[0]!);
    });
    await d.launch(drain(), convoy);
    expect(await d.steps()).toEqual({ all: 'pass', end: 'ready' });
  });

  // Guard: nothing that happens later would have it take them.
  it('takes the members that have come meanwhile when it is opened again', async () => {
    const { convoy, members } = await d.convoyOf(1);
    await d.work(async (work) => {
      await work.update(convoy, { addLabels: ['owned'] });
      await work.close(members[0]!);
    });
    await d.launch(drain(), convoy);
    expect(await d.steps()).toEqual({ all: 'pass', end: 'ready' });
    await d.work((work) => work.reopen(members[0]!));
    const [all] = await d.rows();
    await d.work((work) => work.reopen(all!.id));
    expect(await d.steps()).toMatchObject({ all: 'blocked', end: 'blocked', 'all.unit.1.x': 'ready' });
  });

  it('ends its run as that is launched where it has nothing to take, and is all that there is', async () => {
    const alone = drain().split('[[steps]]\nid = "end"')[0]!;
    const { convoy, members } = await d.convoyOf(1);
    await d.work(async (work) => {
      await work.update(convoy, { addLabels: ['owned'] });
      await work.close(members[0]!);
    });
    const run = await d.launch(alone, convoy);
    expect(run).toMatchObject({ status: 'completed', steps: 1, closed: 1 });
    // Made and closed by one transaction: one event has both.
    const told = (await d.fixture.events()).filter(({ type, subject }) => type.startsWith('bead.') && subject === run.id);
    expect(told).toMatchObject([{ type: 'bead.created', payload: { bead: { status: 'closed' } } }]);
    // Nothing is live that the next launch would be answered with.
    await expect(d.launch(alone, convoy)).resolves.toMatchObject({ status: 'completed', created: true });
  });

  it('has no one bead to name where a member is a convoy', async () => {
    const { convoy } = await d.convoyOf(1);
    expect(await failed(drain(), await d.convoyAround(convoy))).toMatchObject({ code: 'unresolved_member' });
    const plain = await d.launch(drain(), await d.convoyAround(convoy), ITEM.replace('{{issue}}', 'it'));
    const made = (await d.rows(plain.id)).slice(2);
    expect(made.map(({ title }) => title)).toEqual(['Weigh it', `Note it in ${convoy}`]);
  });

  // Guard: its units would park the wait, so that nobody is told, and end it.
  it.each(['exclusive', 'read'])('takes no wait for a member that it has for itself: %s', async (access) => {
    const { members } = await d.convoyOf(1);
    const metadata = { state: 'pending', session_id: 'somebody' };
    const wait = await d.work((work) => work.create({ rig: '', title: 'wait', type: 'gate', labels: ['gc:wait'], metadata }));
    const convoy = await d.convoyAround(members[0]!, wait.id);
    if (access === 'exclusive')
      expect(await failed(drain(EXCLUSIVE), convoy)).toEqual({
        reason: `${wait.id} is a wait, which is nobody's work`,
        code: 'unresolved_member',
        beads: 2,
      });
    else {
      // It is looked at only, as every other member.
      await d.launch(drain(), convoy);
      for (const step of ['all.unit.1.x', 'all.unit.1.y', 'all.unit.2.x', 'all.unit.2.y']) await d.end(step);
      expect(await d.steps()).toMatchObject({ all: 'pass', end: 'ready' });
    }
    expect(await d.find(wait.id)).toMatchObject({ status: 'open', labels: ['gc:wait'], metadata });
  });

  it('needs a convoy', async () => {
    const text = drain().replace('End of {{convoy_id}}', 'End');
    await expect(d.runs.launch({ recipe: recipeOf(text, {}, { item: ITEM }), target: 'polecat' })).rejects.toThrow(
      'v2 formula "f" requires a target convoy',
    );
  });

  it('makes its units once, and ends once, though two say at once that the last ones are over', async () => {
    const { convoy } = await d.convoyOf(2);
    const short = `formula = "item"\n${HEAD}[[steps]]\nid = "x"\ntitle = "X"\n`;
    await d.launch(drain(), convoy, short);
    await Promise.all([d.end('all.unit.1.x'), d.end('all.unit.2.x')]);
    expect(await d.steps()).toEqual({ all: 'pass', end: 'ready', 'all.unit.1.x': 'done', 'all.unit.2.x': 'done' });
    const completed = (await d.fixture.events()).filter(({ type }) => type === 'execution.step_completed');
    expect(completed).toHaveLength(3);
  });
});
