import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import type { BeadRecord, NewBead } from '../work/bead-record.js';
import type { Work } from '../work/work.js';
import { hookProcess, type HookProcess } from './testing/hook-process.js';

let fixture: WorkFixture;
let p: HookProcess;
beforeEach(async () => {
  fixture = await workFixture();
  p = hookProcess(fixture);
});
afterEach(() => fixture.close());

const POOL = 'web/polecat';
const run = <T>(body: (work: Work) => Promise<T>): Promise<T> => fixture.work.run(fixture.city, 'tester', body).then((done) => done.value);
const create = (more: Partial<NewBead> = {}): Promise<BeadRecord> => run((w) => w.create({ rig: '', title: 'work', ...more }));
const routed = (more: Partial<NewBead> = {}, route = POOL): Promise<BeadRecord> =>
  create({ ...more, metadata: { 'gc.routed_to': route, ...more.metadata } });
const many = (n: number): Promise<void> =>
  run(async (w) => {
    for (let i = 0; i < n; i++) await w.create({ rig: '', title: `work ${i}`, metadata: { 'gc.routed_to': POOL } });
  });
const head = async (): Promise<number> => (await fixture.events()).at(-1)?.seq ?? 0;
const DRAIN = { schema_version: '1', ok: true, command: 'hook', action: 'drain', reason: 'no_work' };

describe('a hook', () => {
  it('is read in the order in which claims take it', async () => {
    await routed({ priority: 0 }); // al-1: the pool's, oldest
    await routed({ priority: 0 }); // al-2
    await create({ assignee: 'web/witness', priority: 3 }); // al-3: somebody else's
    await create({ assignee: POOL, priority: 3 }); // al-4
    await create({ assignee: POOL, priority: 1 }); // al-5
    await create({ assignee: POOL, type: 'epic' }); // al-6: an epic of its own counts
    await create({ assignee: POOL }); // al-7: begun
    await run((w) => w.update('al-7', { status: 'in_progress' }));
    const hook = await p.hook(POOL);
    expect(hook).toMatchObject({ action: 'work', agent: POOL, reason: 'existing_assignment' });
    expect(hook.items.map((item) => [item.bead.id, item.tier])).toEqual([
      ['al-7', 'in_progress'],
      ['al-5', 'assigned'],
      ['al-6', 'assigned'],
      ['al-4', 'assigned'],
      ['al-1', 'routed'],
      ['al-2', 'routed'],
    ]);
    expect((await p.hook(POOL, [], 2)).items.map((item) => item.bead.id)).toEqual(['al-7', 'al-5']);
    const taken: unknown[] = [];
    for (let answer = await p.next(POOL); answer.action === 'work'; answer = await p.next(POOL)) {
      taken.push([answer.bead_id, answer.reason]);
      expect(await p.next(POOL)).toMatchObject({ bead_id: answer.bead_id, reason: 'existing_assignment', fence: answer.fence });
      await run((w) => w.close(answer.bead_id!));
    }
    expect(taken).toEqual([
      ['al-7', 'existing_assignment'],
      ['al-5', 'ready_assignment'],
      ['al-6', 'ready_assignment'],
      ['al-4', 'ready_assignment'],
      ['al-1', 'claimed'],
      ['al-2', 'claimed'],
    ]);
    expect(await p.hook(POOL)).toEqual({ action: 'drain', agent: POOL, reason: 'no_work', items: [] });
    expect(await p.next(POOL)).toEqual(DRAIN);
  });

  it('offers and counts by one rule, and never what is parked, deferred, blocked, an epic or no work', async () => {
    const later = new Date('2999-01-01T00:00:00Z');
    await routed({ labels: ['hold:mayor'] });
    await routed({ labels: ['x', 'hold:anything'] });
    await routed({ deferUntil: later });
    await routed({ type: 'epic' });
    await routed({ type: 'convoy' });
    await routed({ labels: ['gc:session'] });
    await routed({ assignee: 'mayor' });
    await routed(); // al-8: blocked by al-9
    await routed({}, 'core/polecat'); // al-9
    await run((w) => w.putEdge({ issue_id: 'al-8', depends_on_id: 'al-9', type: 'blocks' }));
    await create({ assignee: POOL, labels: ['hold:external'] });
    await create({ assignee: POOL, deferUntil: later });
    await create({ assignee: POOL, type: 'message' });
    await create({ assignee: POOL, labels: ['hold:external'] });
    await run((w) => w.update('al-13', { status: 'in_progress' }));
    const at = await head();
    expect(await p.hook(POOL)).toMatchObject({ action: 'drain' });
    expect(await p.next(POOL)).toEqual(DRAIN);
    expect(await head()).toBe(at);
    expect(await p.demand()).toEqual({ items: [{ route: 'core/polecat', ready: 1 }], total: 1 });
    await run(async (w) => {
      await w.close('al-9');
      await w.update('al-1', { removeLabels: ['hold:mayor'] });
      await w.update('al-3', { deferUntil: new Date(0) });
    });
    expect(await p.demand()).toEqual({ items: [{ route: POOL, ready: 3 }], total: 3 });
    expect((await p.hook(POOL)).items.map((item) => item.bead.id)).toEqual(['al-1', 'al-3', 'al-8']);
  });

  it('knows agents by every name, and nobody else', async () => {
    await create({ assignee: 'witness' });
    await create({ assignee: 'crew-name' });
    for (const name of ['witness', 'web/witness'])
      expect(await p.hook(name)).toMatchObject({ agent: 'web/witness', items: [{ bead: { id: 'al-1' } }] });
    expect((await p.hook('witness', ['crew-name'])).items.map((item) => item.bead.id)).toEqual(['al-1', 'al-2']);
    for (const name of ['polecat', 'nobody', 'nobody-1', 'web/', '-1', "'"]) {
      await expect(p.hook(name)).rejects.toMatchObject({ detail: `not_found: agent ${name} not found` });
      await expect(p.next(name)).rejects.toMatchObject({ problem: 'agent_not_found' });
    }
    expect(await p.next({ agent: 'witness', aliases: ['crew-name'] })).toMatchObject({ bead_id: 'al-1', assignee: 'web/witness' });
  });

  it('is shared by the slots of a pool, each with its own work', async () => {
    await routed();
    await routed();
    await routed({}, `${POOL}-2`);
    expect(await p.next(`${POOL}-1`)).toMatchObject({ bead_id: 'al-1', assignee: `${POOL}-1`, route: POOL });
    expect(await p.next(`${POOL}-2`)).toMatchObject({ bead_id: 'al-3', reason: 'claimed' });
    expect(await p.next(`${POOL}-3`)).toMatchObject({ bead_id: 'al-2' });
    expect(await p.next(`${POOL}-1`)).toMatchObject({ bead_id: 'al-1', reason: 'existing_assignment' });
    expect((await p.hook(`${POOL}-2`)).items.map((item) => item.bead.id)).toEqual(['al-3']);
  });

  it('is shared by sessions of one agent, which keep what they hold under a live lease', async () => {
    await many(2);
    const [one, two] = [
      { agent: POOL, session: 's-1' },
      { agent: POOL, session: 's-2' },
    ];
    expect(await p.next(one)).toMatchObject({ bead_id: 'al-1', bead: { metadata: { 'gc.session_id': 's-1' } } });
    expect(await p.next(two)).toMatchObject({ bead_id: 'al-2' });
    expect(await p.next(one)).toMatchObject({ bead_id: 'al-1', reason: 'existing_assignment' });
    expect((await p.hook(POOL, ['s-2'])).items.map((item) => item.bead.id)).toEqual(['al-2']);
    expect((await p.hook(POOL)).items.map((item) => item.bead.id)).toEqual(['al-1', 'al-2']);
    await sql`update beads set lease_until = now() - interval '1 second' where id = 'al-1'`.execute(fixture.db);
    expect((await p.hook(POOL, ['s-2'])).items.map((item) => item.bead.id)).toEqual(['al-1', 'al-2']);
  });

  it('gives a continuation group to the one who takes its first bead', async () => {
    const group = { 'gc.root_bead_id': 'r', 'gc.continuation_group': 'g' };
    await routed({ metadata: group }); // al-1
    await routed({ metadata: group }); // al-2: blocked, still the group's
    await routed({ metadata: { ...group, 'gc.continuation_group': 'h' } });
    await routed({ metadata: { ...group, 'gc.root_bead_id': 'q' } });
    await routed({ metadata: group }, 'core/polecat');
    await routed({ metadata: group, assignee: 'mayor' });
    await routed({ metadata: group }); // al-7: closed
    await routed({ metadata: group }); // al-8
    await run(async (w) => {
      await w.putEdge({ issue_id: 'al-2', depends_on_id: 'al-1', type: 'blocks' });
      await w.close('al-7');
    });
    const at = await head();
    // Both in one transaction: the second must not get what the first has just been given.
    const [first, second] = await Promise.all([p.next(`${POOL}-1`), p.next(`${POOL}-2`)]);
    expect(p.batches).toEqual([2]);
    expect(first).toMatchObject({ bead_id: 'al-1', root_bead_id: 'r', continuation_group: 'g', continuation_assigned: ['al-2', 'al-8'] });
    expect(second).toMatchObject({ bead_id: 'al-3', continuation_assigned: [] });
    expect((await fixture.events(at)).map((e) => [e.type, e.subject, e.actor])).toEqual([
      ['bead.updated', 'al-1', `${POOL}-1`],
      ['bead.updated', 'al-2', `${POOL}-1`],
      ['bead.updated', 'al-8', `${POOL}-1`],
      ['bead.updated', 'al-3', `${POOL}-2`],
    ]);
    expect(await run((w) => w.require('al-8'))).toMatchObject({ status: 'open', assignee: `${POOL}-1`, claim_fence: 1, lease_until: null });
    await run((w) => w.close('al-1'));
    expect(await p.next(`${POOL}-1`)).toMatchObject({ bead_id: 'al-2', reason: 'ready_assignment' });
    expect(await p.next(`${POOL}-3`)).toMatchObject({ bead_id: 'al-4' });
  });
});

describe('claims of one process', () => {
  it('share a transaction, and nobody gets what another has', async () => {
    await many(150);
    const at = await head();
    const names = Array.from({ length: 200 }, (_, i) => `${POOL}-${i}`);
    const answers = await Promise.all(names.map((name) => p.next(name)));
    expect(p.batches.length).toBeLessThanOrEqual(2);
    const ids = answers.flatMap((answer) => answer.bead_id ?? []);
    expect(new Set(ids).size).toBe(150);
    expect(answers.filter((answer) => answer.action === 'drain')).toHaveLength(50);
    const events = await fixture.events(at);
    expect(events).toHaveLength(150);
    for (const answer of answers)
      if (answer.action === 'work')
        expect(events.find((e) => e.subject === answer.bead_id)).toMatchObject({ actor: answer.assignee, payload: { bead: answer.bead } });
    expect(p.moved.at(-1)).toEqual({ stream: 'alpha', head: at + 150 });
  });

  it('give one claimant one bead, however often it asks at once', async () => {
    await many(5);
    await routed({}, 'mayor');
    const at = await head();
    const asks = [`${POOL}-1`, 'mayor', `${POOL}-1`, { agent: POOL, session: 's' }, `${POOL}-2`, { agent: POOL, session: 's' }, 'mayor'];
    const answers = await Promise.all(asks.map((ask) => p.next(ask)));
    expect(p.batches).toEqual([7]);
    const [a, m, again, s, b, sAgain, mAgain] = answers;
    expect(again).toMatchObject({ bead_id: a!.bead_id, fence: a!.fence });
    expect(sAgain).toMatchObject({ bead_id: s!.bead_id });
    expect(mAgain).toMatchObject({ bead_id: m!.bead_id });
    expect(new Set([a, m, s, b].map((answer) => answer!.bead_id)).size).toBe(4);
    expect((await fixture.events(at)).length).toBe(4);
  });

  it('know members of one pool by each of their names, and an agent whose name ends like theirs', async () => {
    for (const [name, base, rig] of [
      ['web/fox', 'fox', 'web'],
      ['web/fox-7', 'fox-7', 'web'],
    ] as const)
      await sql`insert into agents (stream_id, name, base, rig, kind) values (${fixture.city.streamId}, ${name}, ${base}, ${rig}, 'agent')`.execute(
        fixture.db,
      );
    await create({ assignee: 'fox-1' });
    for (const route of ['web/fox', 'web/fox', 'web/fox-7', 'web/fox-3']) await routed({}, route);
    const asks = ['fox-1', 'web/fox-2', 'fox-7', 'web/fox-7', 'fox-3', 'web/fox-4', 'fox-9', 'wolf-1', 'fox-'];
    const answers = await Promise.allSettled(asks.map((ask) => p.next(ask)));
    expect(p.batches).toEqual([asks.length]);
    expect(answers).toMatchObject([
      // What is assigned to its bare name is its own.
      { value: { bead_id: 'al-1', reason: 'ready_assignment', assignee: 'web/fox-1' } },
      { value: { bead_id: 'al-2', assignee: 'web/fox-2', route: 'web/fox' } },
      { value: { bead_id: 'al-4', assignee: 'web/fox-7', route: 'web/fox-7' } },
      { value: { bead_id: 'al-4', reason: 'existing_assignment', assignee: 'web/fox-7' } },
      { value: { bead_id: 'al-5', assignee: 'web/fox-3', route: 'web/fox-3' } },
      { value: { bead_id: 'al-3', assignee: 'web/fox-4' } },
      { value: { action: 'drain' } },
      { reason: { problem: 'agent_not_found' } },
      { reason: { problem: 'agent_not_found' } },
    ]);
  });

  it('mix direct ones with those of hooks', async () => {
    await many(3);
    const [direct, next, lost, other] = await Promise.allSettled([
      p.claim('al-1', { assignee: 'mayor' }),
      p.next(`${POOL}-1`),
      p.claim('al-1', { assignee: 'deacon' }),
      p.next('nobody'),
    ]);
    expect(p.batches).toEqual([4]);
    expect(direct).toMatchObject({ value: { bead: { id: 'al-1', assignee: 'mayor' } } });
    expect(next).toMatchObject({ value: { bead_id: 'al-2' } });
    expect(lost).toMatchObject({ reason: { problem: 'owned_by_other' } });
    expect(other).toMatchObject({ reason: { problem: 'agent_not_found' } });
  });

  it('fetch more when what they were offered first has gone', async () => {
    const group = { 'gc.root_bead_id': 'r', 'gc.continuation_group': 'g' };
    for (let i = 0; i < 4; i++) await routed({ metadata: group });
    await many(3);
    const answers = await Promise.all([1, 2, 3, 4, 5].map((n) => p.next(`${POOL}-${n}`)));
    expect(answers.map((answer) => answer.bead_id)).toEqual(['al-1', 'al-5', 'al-6', 'al-7', undefined]);
  });

  it('pass no index entry but those that they need', async () => {
    await sql`
      insert into beads (stream_id, id, title, metadata, labels, created_at, issue_type)
      select ${fixture.city.streamId}, 'al-' || i, 'x', '{"gc.routed_to": "web/polecat"}', case when i % 2 = 0 then array['hold:mayor'] else '{}' end,
        now() - (20000 - i) * interval '1 second', case when i % 3 = 0 then 'epic' else 'task' end
      from generate_series(1, 20000) i`.execute(fixture.db);
    await sql`vacuum analyze beads`.execute(fixture.db);
    const { rows } = await sql<{ 'QUERY PLAN': [{ Plan: { Plans: { 'Index Name': string; 'Rows Removed by Filter'?: number }[] } }] }>`
      explain (analyze, format json) select b.id from beads b
      where b.stream_id = ${fixture.city.streamId} and b.routed_to = ${POOL} and bead_is_offered(b) order by b.created_at, b.id limit 64`.execute(
      fixture.db,
    );
    const [scan] = rows[0]!['QUERY PLAN'][0].Plan.Plans;
    expect(scan).toMatchObject({ 'Index Name': 'beads_offered_idx' });
    expect(scan!['Rows Removed by Filter'] ?? 0).toBe(0);
  });
});

it('shows as much of a hook as one answer holds', async () => {
  await sql`
    insert into beads (stream_id, id, title, description, metadata)
    select ${fixture.city.streamId}, 'b-' || n, 'x', repeat('d', 262144), '{"gc.routed_to": "mayor"}' from generate_series(1, 50) n`.execute(
    fixture.db,
  );
  const { items } = await p.hook('mayor');
  expect(items.map((item) => item.bead.id)).toEqual(Array.from({ length: 7 }, (_, n) => `b-${n + 1}`));
});
