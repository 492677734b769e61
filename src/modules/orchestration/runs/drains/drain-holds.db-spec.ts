import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { hookProcess } from '../../../work/hooks/testing/hook-process.js';
import { recipeOf } from '../testing/launches.js';
import { drain, DrainFixture, EXCLUSIVE, HEAD, ITEM, OTHER, POOL, SHARED } from './testing/drain-fixture.js';

let d: DrainFixture;
beforeEach(async () => {
  d = await DrainFixture.open();
});
afterEach(() => d.close());

describe('what a drain has for itself', () => {
  it('offers nobody what it has for itself', async () => {
    const { convoy, members } = await d.convoyOf(1);
    await d.work((work) => work.update(members[0]!, { metadata: { 'gc.routed_to': POOL } }));
    await d.launch(drain(EXCLUSIVE), convoy);
    expect((await hookProcess(d.fixture).hook(POOL)).items ?? []).toEqual([]);
    await d.end('all.unit.1.x', { 'gc.outcome': 'fail' });
    expect((await hookProcess(d.fixture).hook(POOL)).items).toMatchObject([{ bead: { id: members[0] } }]);
  });

  it('is ended by who takes one of its members by force', async () => {
    const { convoy, members } = await d.convoyOf(2);
    const { id } = await d.launch(drain(EXCLUSIVE), convoy);
    const taken = await d.runs.launch({ recipe: recipeOf(OTHER), target: 'polecat', source: members[0], force: true });
    expect(await d.runs.run(id)).toMatchObject({ status: 'canceled' });
    expect(await d.runs.run(taken.id)).toMatchObject({ status: 'pending' });
    for (const member of members) expect(await d.find(member)).toMatchObject({ status: 'open', labels: [] });
  });

  it('has members for itself until their unit is over, and closes those whose unit has passed', async () => {
    const { convoy, members } = await d.convoyOf(2);
    const { id } = await d.launch(drain(EXCLUSIVE), convoy);
    expect((await d.find(members[0]!)).labels).toEqual([expect.stringMatching(/^hold:drain:al-/)]);
    await expect(d.runs.launch({ recipe: recipeOf(OTHER), target: 'polecat', source: members[0] })).rejects.toMatchObject({
      message: expect.stringContaining(`already has live workflow(s): ${id}`),
    });
    await d.end('all.unit.1.x');
    await d.end('all.unit.1.y');
    expect(await d.find(members[0]!)).toMatchObject({ status: 'closed', labels: [] });
    expect((await d.find(members[1]!)).labels).toHaveLength(1);
    await d.end('all.unit.2.x', { 'gc.outcome': 'fail' });
    expect(await d.find(members[1]!)).toMatchObject({ status: 'open', labels: [] });
    await d.runs.launch({ recipe: recipeOf(OTHER), target: 'polecat', source: members[1] });
    expect(await d.find(convoy)).toMatchObject({ status: 'open' });
  });

  it.each([
    [
      'is canceled',
      (id: string) =>
        d.fixture.work.run(d.fixture.city, 'api', async (work) =>
          d.runs.endings.end(work, (await d.runs.repository.find(work.tx, d.fixture.city.streamId, id))!, {
            outcome: 'canceled',
            reason: 'no more',
          }),
        ),
    ],
    ['loses its root', (id: string) => d.fixture.work.run(d.fixture.city, 'api', (work) => work.remove(id))],
    [
      'loses its drain',
      async () => {
        const [all] = await d.rows();
        await d.fixture.work.run(d.fixture.city, 'api', (work) => work.remove(all!.id));
      },
    ],
  ] as const)('lets go of what it holds when its run %s', async (_how, ends) => {
    const { convoy, members } = await d.convoyOf(2);
    const { id } = await d.launch(drain(EXCLUSIVE), convoy);
    const [own] = (await d.rows()).slice(2).map(({ metadata }) => metadata['gc.input_convoy_id']!);
    await ends(id);
    for (const member of members) expect(await d.find(member)).toMatchObject({ status: 'open', labels: [] });
    expect(await d.find(own!)).toMatchObject({ status: 'closed' });
    expect((await d.units()).filter(({ held }) => held)).toEqual([]);
  });

  it('ends with the scope that it is a member of', async () => {
    const { convoy, members } = await d.convoyOf(1);
    const scoped = `formula = "f"\n${HEAD}[[steps]]\nid = "s"\ntitle = "S"\nmetadata = { "gc.kind" = "scope" }\n[[steps]]\nid = "m"\ntitle = "M"\nmetadata = { "gc.scope_ref" = "s", "gc.on_fail" = "abort_scope" }\n[[steps]]\nid = "all"\ntitle = "All"\nmetadata = { "gc.scope_ref" = "s" }\ndrain = { formula = "item", ${EXCLUSIVE} }\n[[steps]]\nid = "c"\ntitle = "C"\n`;
    await d.launch(scoped, convoy);
    expect(await d.steps()).toMatchObject({ 'all.unit.1.x': 'ready' });
    await d.end('m', { 'gc.outcome': 'fail' });
    expect(await d.steps()).toMatchObject({ s: 'fail', all: 'skipped', 'all.unit.1.x': 'skipped' });
    expect(await d.find(members[0]!)).toMatchObject({ status: 'open', labels: [] });
    expect(await d.units()).toMatchObject([{ outcome: 'skipped', held: false }]);
    expect(await d.steps()).toMatchObject({ c: 'ready' });
  });

  // Guards: who has a member by now goes on with it, and the drain has what it is done for.
  it('is not taken up again once its unit is over', async () => {
    const { convoy, members } = await d.convoyOf(2);
    const more = `[[steps]]\nid = "o"\ntitle = "O"\n`;
    const retried = ITEM.replace('title = "Weigh', 'retry = { max_attempts = 1 }\ntitle = "Weigh');
    await d.launch(`${drain(EXCLUSIVE)}${more}`, convoy, retried);
    const refused = async (ref: string, member: string): Promise<void> => {
      const { id, all } = { id: await d.idOf(ref), all: await d.idOf('all') };
      await expect(d.open(ref)).rejects.toMatchObject({
        problem: 'wrong_state',
        detail: `conflict: the unit of drain ${all} for ${member} has ended, and bead ${id} with it; launch its formula again`,
      });
    };
    await d.end('all.unit.1.x.attempt.1', { 'gc.outcome': 'fail' });
    expect(await d.units()).toMatchObject([{ outcome: 'fail' }, { outcome: null }]);
    for (const ref of ['all.unit.1.x', 'all.unit.1.y']) await refused(ref, members[0]!);
    // The other one has what it is done for still.
    await d.end('all.unit.2.x', { 'gc.outcome': 'pass' });
    await d.open('all.unit.2.x');
    expect((await d.find(members[1]!)).labels).toHaveLength(1);
    for (const step of ['x', 'y']) await d.end(`all.unit.2.${step}`, { 'gc.outcome': 'pass' });
    await refused('all', members[0]!);
    await refused('all.unit.2.x.attempt.1', members[1]!);
    expect(await d.steps()).toMatchObject({ all: 'fail', end: 'skipped', o: 'ready' });
  });

  it('is taken up again with a drain that somebody has closed over it', async () => {
    const { convoy, members } = await d.convoyOf(1);
    await d.launch(`${drain(EXCLUSIVE)}[[steps]]\nid = "o"\ntitle = "O"\n`, convoy);
    await d.end('all', { 'gc.outcome': 'fail' });
    expect(await d.steps()).toMatchObject({ all: 'fail', end: 'skipped', 'all.unit.1.x': 'skipped', 'all.unit.1.y': 'skipped' });
    await d.open('all');
    expect(await d.steps()).toMatchObject({ all: 'blocked', end: 'blocked', 'all.unit.1.x': 'ready', 'all.unit.1.y': 'blocked' });
    expect((await d.find(members[0]!)).labels).toEqual([expect.stringMatching(/^hold:drain:al-/)]);
    for (const step of ['x', 'y']) await d.end(`all.unit.1.${step}`);
    expect(await d.steps()).toMatchObject({ all: 'pass', end: 'ready' });
    expect(await d.find(members[0]!)).toMatchObject({ status: 'closed', labels: [] });
  });

  // Guards: nobody works on the members for a drain that is closed, and nobody beside somebody else for one that is opened again.
  it.each(['fail', 'pass'])('lets go of what it holds while somebody has closed it: %s', async (outcome) => {
    const { convoy, members } = await d.convoyOf(2);
    await d.launch(`${drain(EXCLUSIVE)}[[steps]]\nid = "o"\ntitle = "O"\n`, convoy);
    const all = await d.idOf('all');
    const refused = async (why: string): Promise<void> => {
      await expect(d.open('all')).rejects.toMatchObject({
        problem: 'wrong_state',
        detail: `conflict: drain ${all} has let go its members, and ${why}; launch its formula again`,
      });
    };
    await d.end('all', { 'gc.outcome': outcome });
    for (const member of members) expect(await d.find(member)).toMatchObject({ status: 'open', labels: [] });
    expect(await d.units()).toMatchObject([
      { outcome: null, held: false },
      { outcome: null, held: false },
    ]);
    const other = await d.runs.launch({ recipe: recipeOf(OTHER), target: 'polecat', source: members[1] });
    await refused(`${members[1]} is worked on by run ${other.id}`);
    expect((await d.find(members[0]!)).labels).toEqual([]);
    await d.work((work) => work.update(members[0]!, { status: 'closed' }));
    await refused(`${members[0]} is closed, or gone`);
  });

  it('keeps what was closed before somebody closed it', async () => {
    const { convoy, members } = await d.convoyOf(2);
    await d.launch(`${drain(EXCLUSIVE)}[[steps]]\nid = "o"\ntitle = "O"\n`, convoy);
    const change = (status: 'open' | 'closed') => d.work((work) => work.update(members[0]!, { status }));
    const held = async (): Promise<readonly boolean[]> => (await d.units()).map((unit) => unit.held);
    await change('closed');
    await d.end('all', { 'gc.outcome': 'pass' });
    expect(await held()).toEqual([true, false]);
    await d.open('all');
    expect(await held()).toEqual([true, true]);
    // It is let go as the others are, as soon as anybody opens it meanwhile.
    await d.end('all', { 'gc.outcome': 'pass' });
    expect(await held()).toEqual([true, false]);
    await change('open');
    expect(await held()).toEqual([false, false]);
    for (const member of members) expect(await d.find(member)).toMatchObject({ status: 'open', labels: [] });
  });

  // Guard: one of many that is over keeps none of the others from being done.
  it('is taken up again with its drain where only some of its units are over', async () => {
    const { convoy } = await d.convoyOf(2);
    await d.launch(`${drain(EXCLUSIVE)}[[steps]]\nid = "o"\ntitle = "O"\n`, convoy);
    for (const step of ['x', 'y']) await d.end(`all.unit.1.${step}`, { 'gc.outcome': 'pass' });
    await d.end('all', { 'gc.outcome': 'fail' });
    expect(await d.units()).toMatchObject([{ outcome: 'pass' }, { outcome: null }]);
    await d.open('all');
    expect(await d.steps()).toMatchObject({ all: 'blocked', 'all.unit.1.x': 'pass', 'all.unit.2.x': 'ready', 'all.unit.2.y': 'blocked' });
    for (const step of ['x', 'y']) await d.end(`all.unit.2.${step}`, { 'gc.outcome': 'pass' });
    expect(await d.steps()).toMatchObject({ all: 'pass', end: 'ready' });
  });

  it('is not taken up again in a lane that has passed over another unit for it', async () => {
    const { convoy, members } = await d.convoyOf(2);
    await d.launch(`${drain(SHARED)}[[steps]]\nid = "o"\ntitle = "O"\n`, convoy, `${ITEM}metadata = { "gc.kind" = "cleanup" }\n`);
    await d.end('all.unit.1.x', { 'gc.outcome': 'fail' });
    expect(await d.units()).toMatchObject([{ outcome: null }, { outcome: 'skipped', reason: 'previous_item_failed' }]);
    const all = await d.idOf('all');
    await expect(d.open('all.unit.1.x')).rejects.toMatchObject({
      problem: 'wrong_state',
      detail: expect.stringContaining(`the unit of drain ${all} for ${members[1]!} has ended`),
    });
  });

  it('does not take for itself what others are at', async () => {
    const { convoy, members } = await d.convoyOf(2);
    const { id } = await d.launch(drain(EXCLUSIVE), convoy);
    const again = await d.launch(drain(EXCLUSIVE), await d.convoyAround(members[1]!));
    const [all] = await d.rows(again.id);
    expect(all).toMatchObject({ said: 'fail', reason: `${members[1]} is worked on by run ${id}` });
    expect(all!.metadata['gc.failure_reason']).toBe('drain_reservation');
    // Whoever only reads does not ask.
    const reading = await d.launch(drain(), await d.convoyAround(members[1]!));
    expect(Object.keys(await d.steps(reading.id))).toHaveLength(4);
    const third = await d.convoyOf(1);
    await d.work((work) => work.update(third.members[0]!, { status: 'in_progress', assignee: 'toast' }));
    const begun = await d.launch(drain(EXCLUSIVE), third.convoy);
    expect((await d.rows(begun.id))[0]).toMatchObject({ said: 'fail', reason: `${third.members[0]} is being worked on by toast` });
  });
});
