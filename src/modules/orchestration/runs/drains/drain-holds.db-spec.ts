import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { hookProcess } from '../../../work/hooks/testing/hook-process.js';
import { recipeOf } from '../testing/launches.js';
import { drain, DrainFixture, EXCLUSIVE, HEAD, OTHER, POOL } from './testing/drain-fixture.js';

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
