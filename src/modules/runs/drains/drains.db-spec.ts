import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { workRealm, type WorkRealm } from '../../../../test/support/work.js';
import { ConvoysRepository } from '../../convoys/convoys.repository.js';
import { launches, recipeOf, type Launches } from '../testing/launches.js';

let realm: WorkRealm;
let runs: Launches;
beforeEach(async () => {
  realm = await workRealm();
  runs = launches(realm);
});
afterEach(() => realm.close());

const HEAD = '[requires]\nformula_compiler = ">=2.0.0"\n';
const ITEM = `formula = "item"\n${HEAD}[[steps]]\nid = "x"\ntitle = "Weigh {{issue}}"\n[[steps]]\nid = "y"\ntitle = "Note it in {{convoy_id}}"\nneeds = ["x"]\n`;
const drain = (keys = ''): string =>
  `formula = "f"\n${HEAD}[[steps]]\nid = "all"\ntitle = "All"\ndrain = { formula = "item"${keys === '' ? '' : `, ${keys}`} }\n[[steps]]\nid = "end"\ntitle = "End of {{convoy_id}}"\nneeds = ["all"]\n`;
const SHARED = 'context = "shared", item = { single_lane = true }';
const EXCLUSIVE = 'member_access = "exclusive"';

interface Bead {
  readonly id: string;
  readonly ref: string;
  readonly title: string;
  readonly status: string;
  readonly said: string | null;
  readonly reason: string | null;
  readonly blocked: boolean;
  readonly metadata: Readonly<Record<string, string>>;
}
const rows = async (run?: string): Promise<Bead[]> =>
  (
    await sql<Bead>`
      select id, ref, title, status, metadata ->> 'gc.outcome' as said, metadata ->> 'close_reason' as reason, open_blockers > 0 as blocked, metadata
      from beads where run_id is not null and run_id <> id and ${run === undefined ? sql`true` : sql`run_id = ${run}`}
      order by created_at, length(id), id`.execute(realm.db)
  ).rows;
/** The steps of a run by their ids in the formula. */
const steps = async (run?: string): Promise<Record<string, string>> =>
  Object.fromEntries(
    (await rows(run)).map(({ ref, status, said, blocked }) => [
      ref.slice(2),
      status === 'closed' ? (said ?? 'done') : blocked ? 'blocked' : 'ready',
    ]),
  );
const end = async (ref: string, metadata: Record<string, string> = {}): Promise<unknown> => {
  const { id } = (await rows()).find((row) => row.ref === `f.${ref}`)!;
  return realm.work.run(realm.city, 'agent', (work) => work.update(id, { status: 'closed', metadata }));
};
const units = async (): Promise<unknown[]> =>
  (await sql`select n, member_id, outcome, reason, held from run_units order by drain_id, n`.execute(realm.db)).rows;
const bead = (title: string, type = 'task'): Promise<string> =>
  realm.work.run(realm.city, 'tester', async (work) => (await work.create({ rig: '', title, type })).id).then(({ value }) => value);
const find = (id: string) => realm.work.run(realm.city, 'tester', (work) => work.require(id)).then(({ value }) => value);

/** A convoy of so many beads. */
async function convoyOf(count: number): Promise<{ convoy: string; members: string[] }> {
  const members: string[] = [];
  for (let n = 1; n <= count; n++) members.push(await bead(`m${n}`));
  const convoy = await bead('All of it', 'convoy');
  await realm.work.run(realm.city, 'tester', (work) => work.putEdges(convoy, members, 'tracks'));
  return { convoy, members };
}
async function convoyAround(member: string): Promise<string> {
  const convoy = await bead('Around it', 'convoy');
  await realm.work.run(realm.city, 'tester', (work) => work.putEdges(convoy, [member], 'tracks'));
  return convoy;
}
const launch = (text: string, source: string, item = ITEM) =>
  runs.launch({ recipe: recipeOf(text, {}, { item }), target: 'polecat', source });

describe('a drain', () => {
  it('does its item formula for each open member of the convoy, each for itself, and goes on when all are done', async () => {
    const { convoy, members } = await convoyOf(3);
    await realm.work.run(realm.city, 'tester', (work) => work.close(members[1]!));
    const { id } = await launch(drain(), convoy);
    expect(await steps()).toEqual({
      all: 'blocked',
      end: 'blocked',
      ...{ 'all.unit.1.x': 'ready', 'all.unit.1.y': 'blocked', 'all.unit.2.x': 'ready', 'all.unit.2.y': 'blocked' },
    });
    const made = (await rows()).slice(2);
    expect((await rows())[1]!.title).toBe(`End of ${convoy}`);
    const [first, , third] = made.map(({ metadata }) => metadata);
    expect([first!['gc.drain_member_id'], third!['gc.drain_member_id']]).toEqual([members[0], members[2]]);
    const own = first!['gc.input_convoy_id']!;
    const repository = new ConvoysRepository(realm.db);
    expect(await realm.db.transaction().execute((tx) => repository.members(tx, realm.city.streamId, own))).toEqual([
      { id: members[0], open: true },
    ]);
    const other = third!['gc.input_convoy_id']!;
    expect(new Set([convoy, own, other]).size).toBe(3);
    expect(made.map(({ title }) => title)).toEqual([
      ...[`Weigh ${members[0]}`, `Note it in ${own}`],
      ...[`Weigh ${members[2]}`, `Note it in ${other}`],
    ]);

    await end('all.unit.1.x');
    await end('all.unit.1.y');
    expect(await find(own)).toMatchObject({ status: 'closed' });
    expect(await units()).toMatchObject([
      { n: 1, outcome: 'pass' },
      { n: 2, outcome: null },
    ]);
    await end('all.unit.2.x');
    await end('all.unit.2.y');
    expect(await steps()).toMatchObject({ all: 'pass', end: 'ready' });
    await end('end');
    expect(await runs.run(id)).toMatchObject({ status: 'completed', steps: 6, closed: 6 });
    // Members are only read.
    expect(await find(members[0]!)).toMatchObject({ status: 'open', labels: [] });
  });

  it('goes on with the others when one fails, and fails in the end', async () => {
    const { convoy, members } = await convoyOf(2);
    const { id } = await launch(drain(), convoy);
    await end('all.unit.1.x', { 'gc.outcome': 'fail' });
    expect(await steps()).toMatchObject({ all: 'blocked', 'all.unit.1.y': 'skipped', 'all.unit.2.x': 'ready' });
    await end('all.unit.2.x');
    await end('all.unit.2.y');
    expect(await units()).toMatchObject([
      { n: 1, outcome: 'fail', reason: 'f.all.unit.1.x failed' },
      { n: 2, outcome: 'pass' },
    ]);
    expect(await steps()).toMatchObject({ all: 'fail', end: 'skipped' });
    expect((await rows())[0]!.reason).toBe(`1 of 2 units did not pass, the first of them unit 1 for ${members[0]}`);
    expect(await runs.run(id)).toMatchObject({ status: 'failed', error_message: 'f.all failed' });
  });

  it('in a shared context does one member after the other, for one claimant, and none after one that failed', async () => {
    const { convoy, members } = await convoyOf(3);
    await launch(drain(`${SHARED}, continuation_group = "lane"`), convoy);
    expect(await steps()).toMatchObject({ 'all.unit.1.x': 'ready', 'all.unit.2.x': 'blocked', 'all.unit.3.x': 'blocked' });
    expect(new Set((await rows()).slice(2).map(({ metadata }) => metadata['gc.continuation_group']))).toEqual(new Set(['lane']));
    await end('all.unit.1.x');
    await end('all.unit.1.y');
    expect(await steps()).toMatchObject({ 'all.unit.2.x': 'ready', 'all.unit.3.x': 'blocked' });
    await end('all.unit.2.x', { 'gc.outcome': 'fail' });
    expect(await units()).toMatchObject([
      { member_id: members[0], outcome: 'pass' },
      { member_id: members[1], outcome: 'fail' },
      { member_id: members[2], outcome: 'skipped', reason: 'previous_item_failed' },
    ]);
    expect(await steps()).toMatchObject({ all: 'fail', end: 'skipped', 'all.unit.3.x': 'skipped', 'all.unit.3.y': 'skipped' });
  });

  it('keeps the groups of its units apart in a separate context', async () => {
    const { convoy } = await convoyOf(2);
    const grouped = ITEM.replaceAll(/^title/gm, 'metadata = { "gc.continuation_group" = "g" }\ntitle');
    await launch(drain(), convoy, grouped);
    const groups = (await rows()).slice(2).map(({ metadata }) => metadata['gc.continuation_group']);
    expect(groups).toEqual(['f.all.unit.1:g', 'f.all.unit.1:g', 'f.all.unit.2:g', 'f.all.unit.2:g']);
  });

  it('has members for itself until their unit is over, and closes those whose unit has passed', async () => {
    const { convoy, members } = await convoyOf(2);
    const { id } = await launch(drain(EXCLUSIVE), convoy);
    expect((await find(members[0]!)).labels).toEqual([expect.stringMatching(/^hold:drain:al-/)]);
    const other = `formula = "other"\n${HEAD}[[steps]]\nid = "z"\ntitle = "Z"\n`;
    await expect(runs.launch({ recipe: recipeOf(other), target: 'polecat', source: members[0] })).rejects.toMatchObject({
      message: expect.stringContaining(`already has live workflow(s): ${id}`),
    });
    await end('all.unit.1.x');
    await end('all.unit.1.y');
    expect(await find(members[0]!)).toMatchObject({ status: 'closed', labels: [] });
    expect((await find(members[1]!)).labels).toHaveLength(1);
    await end('all.unit.2.x', { 'gc.outcome': 'fail' });
    expect(await find(members[1]!)).toMatchObject({ status: 'open', labels: [] });
    await runs.launch({ recipe: recipeOf(other), target: 'polecat', source: members[1] });
    expect(await find(convoy)).toMatchObject({ status: 'open' });
  });

  it.each([
    [
      'is canceled',
      (id: string) =>
        realm.work.run(realm.city, 'api', async (work) =>
          runs.endings.end(work, (await runs.repository.find(work.tx, realm.city.streamId, id))!, {
            outcome: 'canceled',
            reason: 'no more',
          }),
        ),
    ],
    ['loses its root', (id: string) => realm.work.run(realm.city, 'api', (work) => work.remove(id))],
    [
      'loses its drain',
      async () => {
        const [all] = await rows();
        await realm.work.run(realm.city, 'api', (work) => work.remove(all!.id));
      },
    ],
  ] as const)('lets go of what it holds when its run %s', async (_how, ends) => {
    const { convoy, members } = await convoyOf(2);
    const { id } = await launch(drain(EXCLUSIVE), convoy);
    const [own] = (await rows()).slice(2).map(({ metadata }) => metadata['gc.input_convoy_id']!);
    await ends(id);
    for (const member of members) expect(await find(member)).toMatchObject({ status: 'open', labels: [] });
    expect(await find(own!)).toMatchObject({ status: 'closed' });
    expect((await units()).filter((unit) => (unit as { held: boolean }).held)).toEqual([]);
  });

  it('ends with the scope that it is a member of', async () => {
    const { convoy, members } = await convoyOf(1);
    const scoped = `formula = "f"\n${HEAD}[[steps]]\nid = "s"\ntitle = "S"\nmetadata = { "gc.kind" = "scope" }\n[[steps]]\nid = "m"\ntitle = "M"\nmetadata = { "gc.scope_ref" = "s", "gc.on_fail" = "abort_scope" }\n[[steps]]\nid = "all"\ntitle = "All"\nmetadata = { "gc.scope_ref" = "s" }\ndrain = { formula = "item", ${EXCLUSIVE} }\n[[steps]]\nid = "c"\ntitle = "C"\n`;
    await launch(scoped, convoy);
    expect(await steps()).toMatchObject({ 'all.unit.1.x': 'ready' });
    await end('m', { 'gc.outcome': 'fail' });
    expect(await steps()).toMatchObject({ s: 'fail', all: 'skipped', 'all.unit.1.x': 'skipped' });
    expect(await find(members[0]!)).toMatchObject({ status: 'open', labels: [] });
    expect(await units()).toMatchObject([{ outcome: 'skipped', held: false }]);
    expect(await steps()).toMatchObject({ c: 'ready' });
  });

  const failed = async (
    text: string,
    source: string,
    item = ITEM,
  ): Promise<{ reason: string | null; code: string | undefined; beads: number }> => {
    await launch(text, source, item);
    const all = await rows();
    return { reason: all[0]!.reason, code: all[0]!.metadata['gc.failure_reason'], beads: all.length };
  };

  it('takes no more members than it may', async () => {
    const { convoy } = await convoyOf(3);
    expect(await failed(drain('max_units = 2'), convoy)).toEqual({
      reason: `convoy ${convoy} has more than 2 open members, which is max_units`,
      code: 'limit_exceeded',
      beads: 2,
    });
  });

  it('makes no more steps than a run may have, and holds nothing then', async () => {
    const { convoy, members } = await convoyOf(6);
    const many = `formula = "item"\n${HEAD}[[steps]]\nid = "r"\ntitle = "R"\nloop = { count = 900, body = [{ id = "x", title = "X" }] }\n`;
    expect(await failed(drain(EXCLUSIVE), convoy, many)).toEqual({
      reason: 'the run has more than 5000 steps',
      code: 'limit_exceeded',
      beads: 2,
    });
    expect(await find(members[5]!)).toMatchObject({ status: 'open', labels: [] });
  });

  it('writes no more than a run may hold', async () => {
    const { convoy } = await convoyOf(20);
    const long = `formula = "item"\n${HEAD}[[steps]]\nid = "x"\ntitle = "X"\ndescription = "${'y'.repeat(60_000)}"\n`;
    expect(await failed(drain(), convoy, long)).toMatchObject({ code: 'limit_exceeded', beads: 2 });
  });

  it('does not take for itself what others are at', async () => {
    const { convoy, members } = await convoyOf(2);
    const { id } = await launch(drain(EXCLUSIVE), convoy);
    const again = await launch(drain(EXCLUSIVE), await convoyAround(members[1]!));
    const [all] = await rows(again.id);
    expect(all).toMatchObject({ said: 'fail', reason: `${members[1]} is worked on by run ${id}` });
    expect(all!.metadata['gc.failure_reason']).toBe('drain_reservation');
    // Whoever only reads does not ask.
    const reading = await launch(drain(), await convoyAround(members[1]!));
    expect(Object.keys(await steps(reading.id))).toHaveLength(4);
    const third = await convoyOf(1);
    await realm.work.run(realm.city, 'tester', (work) => work.update(third.members[0]!, { status: 'in_progress', assignee: 'toast' }));
    const begun = await launch(drain(EXCLUSIVE), third.convoy);
    expect((await rows(begun.id))[0]).toMatchObject({ said: 'fail', reason: `${third.members[0]} is being worked on by toast` });
  });

  it('passes over a convoy without open members', async () => {
    const { convoy, members } = await convoyOf(1);
    await realm.work.run(realm.city, 'tester', async (work) => {
      await work.update(convoy, { addLabels: ['owned'] });
      await work.close(members[0]!);
    });
    await launch(drain(), convoy);
    expect(await steps()).toEqual({ all: 'pass', end: 'ready' });
  });

  it('has no one bead to name where a member is a convoy', async () => {
    const { convoy } = await convoyOf(1);
    expect(await failed(drain(), await convoyAround(convoy))).toMatchObject({ code: 'unresolved_member' });
    const plain = await launch(drain(), await convoyAround(convoy), ITEM.replace('{{issue}}', 'it'));
    const made = (await rows(plain.id)).slice(2);
    expect(made.map(({ title }) => title)).toEqual(['Weigh it', `Note it in ${convoy}`]);
  });

  it('needs a convoy', async () => {
    const text = drain().replace('End of {{convoy_id}}', 'End');
    await expect(runs.launch({ recipe: recipeOf(text, {}, { item: ITEM }), target: 'polecat' })).rejects.toThrow(
      'v2 formula "f" requires a target convoy',
    );
  });

  it('makes its units once, and ends once, though two say at once that the last ones are over', async () => {
    const { convoy } = await convoyOf(2);
    const short = `formula = "item"\n${HEAD}[[steps]]\nid = "x"\ntitle = "X"\n`;
    await launch(drain(), convoy, short);
    await Promise.all([end('all.unit.1.x'), end('all.unit.2.x')]);
    expect(await steps()).toEqual({ all: 'pass', end: 'ready', 'all.unit.1.x': 'done', 'all.unit.2.x': 'done' });
    const completed = (await realm.events()).filter(({ type }) => type === 'execution.step_completed');
    expect(completed).toHaveLength(3);
  });
});
