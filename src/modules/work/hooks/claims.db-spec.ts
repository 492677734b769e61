import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import { ANYBODY, type Principal } from '../../../contract/principal.js';
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

const run = <T>(body: (work: Work) => Promise<T>): Promise<T> => fixture.work.run(fixture.city, 'tester', body).then((done) => done.value);
const create = (more: Partial<NewBead> = {}): Promise<BeadRecord> => run((w) => w.create({ rig: '', title: 'work', ...more }));
const bead = (id: string): Promise<BeadRecord> => run((w) => w.require(id));
const head = async (): Promise<number> => (await fixture.events()).at(-1)?.seq ?? 0;

describe('a direct claim', () => {
  it('takes an open bead with a lease, stamps and one event', async () => {
    await create({ metadata: { 'gc.routed_to': 'web/polecat' } });
    const at = await head();
    const answer = await p.claim('al-1', { assignee: 'mayor', lease: '90s', session_id: 's-1', session_name: 'day', work_branch: 'b/1' });
    expect(answer).toMatchObject({
      claimed: true,
      fence: 1,
      lease: '1m30s',
      bead: { status: 'in_progress', assignee: 'mayor', revision: 2 },
    });
    expect(answer.bead.metadata).toEqual({
      'gc.routed_to': 'web/polecat',
      'gc.session_id': 's-1',
      'gc.session_name': 'day',
      'gc.work_branch': 'b/1',
    });
    const { rows } = await sql<{ ms: number; until: Date }>`
      select lease_ms as ms, lease_until as until from beads where lease_until > now() and lease_until < now() + interval '91 seconds'`.execute(
      fixture.db,
    );
    expect(rows).toEqual([{ ms: 90_000, until: new Date(answer.lease_until) }]);
    const events = await fixture.events(at);
    expect(events).toMatchObject([{ type: 'bead.updated', actor: 'mayor', subject: 'al-1' }]);
    expect(events[0]!.payload).toEqual({ bead: answer.bead });
    expect(p.moved).toEqual([{ stream: 'alpha', head: at + 1 }]);
  });

  const hold = 'hold:drain:al-9';
  const session = () => ({ id: 's-1', pk: 1, city: 'alpha', streamId: fixture.city.streamId, agentName: 'mayor', names: ['s-1', 'mayor'] });
  const claim = (caller: Principal, force: boolean) => p.claims.claim('alpha', 'al-1', { assignee: 'mayor', force }, caller);
  const bySession = (force: boolean) => claim({ ...ANYBODY, session: session() }, force);

  // Guard: the claim itself leaves it, and no look ahead of it.
  it('by a session leaves to a drain what that holds, and also what it holds since the claim was made', async () => {
    await create();
    fixture.failpoints.arm('claim.before_flush', () => run((work) => work.relabelAll(['al-1'], hold, true)));
    await expect(bySession(true)).rejects.toMatchObject({
      detail: `forbidden: bead al-1 is held by a drain, which has it for itself (${hold})`,
    });
    expect(await bead('al-1')).toMatchObject({ status: 'open', assignee: null });
  });

  it('by a session leaves to a drain what that holds, and not what the session has begun', async () => {
    await create({ labels: [hold] });
    for (const force of [false, true])
      await expect(bySession(force)).rejects.toMatchObject({
        detail: `forbidden: bead al-1 is held by a drain, which has it for itself (${hold})`,
      });
    await claim(ANYBODY, false);
    expect((await bySession(false)).value).toMatchObject({ claimed: false });
    await sql`update beads set assignee = null, lease_until = null, lease_ms = null where id = 'al-1'`.execute(fixture.db);
    await expect(bySession(true)).rejects.toMatchObject({ problem: 'forbidden' });
  });

  it('goes on from the newest time of the stream when the clock is behind it', async () => {
    await create();
    await sql`update event_streams set last_ts = now() + interval '1 hour' where id = ${fixture.city.streamId}`.execute(fixture.db);
    await p.claim('al-1', { assignee: 'mayor' });
    const { rows } = await sql<{ ahead: boolean }>`
      select e.ts > now() + interval '59 minutes' as ahead from events e where e.stream_id = ${fixture.city.streamId} order by e.seq desc limit 1`.execute(
      fixture.db,
    );
    expect(rows).toEqual([{ ahead: true }]);
  });

  it('makes the event that a work transaction makes of the same change', async () => {
    const metadata = { 'gc.root_bead_id': 'run-1', 'gc.step_id': 'step-1', workflow_id: '', 'gc.session_id': 's-1' };
    for (const _ of [1, 2]) await create({ metadata, labels: ['l'], priority: 1, description: 'text' });
    const at = await head();
    await p.claim('al-1', { assignee: 'mayor', session_id: 's-1' });
    await fixture.work.run(fixture.city, 'mayor', (w) =>
      w.update('al-2', { status: 'in_progress', assignee: 'mayor', lease: { ms: 600_000 } }),
    );
    const { rows } = await sql<{ event: unknown }>`
      select to_jsonb(e) - 'size' - 'seq' - 'ts' - 'subject' #- '{payload,bead,id}' #- '{payload,bead,created_at}' #- '{payload,bead,updated_at}' as event
      from events e where seq > ${at} order by seq`.execute(fixture.db);
    expect(rows).toHaveLength(2);
    expect(rows[0]).toEqual(rows[1]);
    const { rows: beads } = await sql<{ bead: unknown }>`
      select to_jsonb(b) - 'id' - 'created_at' - 'updated_at' - 'lease_until' as bead from beads b order by id`.execute(fixture.db);
    expect(beads[0]).toEqual(beads[1]);
  });

  it('of what one has already begins the lease anew and is no event', async () => {
    await create();
    const first = await p.claim('al-1', { assignee: 'mayor', lease: '1m' });
    const at = await head();
    p.moved.length = 0;
    const again = await p.claim('al-1', { assignee: 'mayor', lease: '1h' });
    expect(again).toMatchObject({ claimed: false, fence: 1, lease: '1h', bead: first.bead });
    expect(Date.parse(again.lease_until)).toBeGreaterThan(Date.parse(first.lease_until));
    expect(await head()).toBe(at);
    expect(p.moved).toEqual([]);
  });

  it('begins what is assigned to the claimant, also under its bare name, and keeps names that no agent has', async () => {
    await create({ assignee: 'witness' });
    expect(await p.claim('al-1', { assignee: 'web/witness' })).toMatchObject({
      claimed: true,
      fence: 1,
      bead: { assignee: 'web/witness' },
    });
    await create();
    expect(await p.claim('al-2', { assignee: 'somebody' })).toMatchObject({ bead: { assignee: 'somebody' } });
    await run((w) => w.update('al-2', { assignee: null }));
    expect(await p.claim('al-2', { assignee: 'mayor' })).toMatchObject({ claimed: true, fence: 3, bead: { status: 'in_progress' } });
  });

  it('loses to the owner with one event of the loser, each time', async () => {
    await create();
    await p.claim('al-1', { assignee: 'mayor' });
    const at = await head();
    for (const _ of [1, 2])
      await expect(p.claim('al-1', { assignee: 'polecat', session_id: 's-9' })).rejects.toMatchObject({
        problem: 'owned_by_other',
        detail: 'conflict: bead al-1 is owned by mayor',
        errors: [{ location: 'body.assignee', value: 'mayor' }],
      });
    expect(await fixture.events(at)).toEqual(
      [1, 2].map((n) => ({
        seq: at + n,
        type: 'bead.claim_rejected',
        actor: 'polecat',
        subject: 'al-1',
        message: null,
        payload: { bead_id: 'al-1', existing_claimant: 'mayor', attempted_claimant: 'polecat' },
      })),
    );
    expect(p.moved.at(-1)).toEqual({ stream: 'alpha', head: at + 2 });
    await expect(p.claim('al-9', { assignee: 'mayor' })).rejects.toMatchObject({ problem: 'bead_not_found' });
    expect(await head()).toBe(at + 2);
    expect(await bead('al-1')).toMatchObject({ assignee: 'mayor', revision: 2 });
  });

  it('of a closed bead is refused, and recorded when somebody else had it', async () => {
    await create();
    await create({ assignee: 'mayor' });
    await run(async (w) => {
      await w.close('al-1');
      await w.close('al-2');
    });
    const at = await head();
    await expect(p.claim('al-1', { assignee: 'deacon' })).rejects.toThrow('conflict: bead al-1 is closed');
    await expect(p.claim('al-2', { assignee: 'mayor' })).rejects.toMatchObject({ problem: 'wrong_state' });
    expect(await head()).toBe(at);
    await expect(p.claim('al-2', { assignee: 'deacon' })).rejects.toThrow('conflict: bead al-2 is closed; its last owner is mayor');
    expect((await fixture.events(at)).map((e) => e.type)).toEqual(['bead.claim_rejected']);
  });

  it('takes what is blocked, deferred or no work only by force', async () => {
    await create();
    for (const title of ['b2', 'b3']) await create({ title });
    await create({ deferUntil: new Date('2999-01-01T00:00:00Z') });
    await create({ type: 'gate' });
    await run(async (w) => {
      for (const on of ['al-3', 'al-2']) await w.putEdge({ issue_id: 'al-1', depends_on_id: on, type: 'blocks' });
    });
    const at = await head();
    await expect(p.claim('al-1', { assignee: 'mayor' })).rejects.toMatchObject({
      problem: 'conflict',
      detail: 'conflict: bead al-1 is blocked by al-2, al-3; force takes it all the same',
      errors: [{ value: 'al-2' }, { value: 'al-3' }],
    });
    await expect(p.claim('al-4', { assignee: 'mayor' })).rejects.toThrow('conflict: bead al-4 is deferred until 2999-01-01T00:00:00');
    await expect(p.claim('al-5', { assignee: 'mayor' })).rejects.toThrow('conflict: bead al-5 is not offered as work (type gate)');
    expect(await head()).toBe(at);
    for (const id of ['al-1', 'al-4', 'al-5'])
      expect(await p.claim(id, { assignee: 'mayor', force: true })).toMatchObject({ claimed: true });
    // Once it is begun its owner goes on with it without force.
    expect(await p.claim('al-1', { assignee: 'mayor' })).toMatchObject({ claimed: false });
  });

  it('keeps sessions of one agent apart while the lease lives', async () => {
    await create();
    await p.claim('al-1', { assignee: 'polecat-x', session_id: 's-1', session_name: 'one' });
    await expect(p.claim('al-1', { assignee: 'polecat-x', session_id: 's-2' })).rejects.toMatchObject({ problem: 'owned_by_other' });
    expect(await p.claim('al-1', { assignee: 'polecat-x', session_name: 'one' })).toMatchObject({ claimed: false });
    expect(await p.claim('al-1', { assignee: 'polecat-x' })).toMatchObject({ claimed: false, fence: 1 });
    await sql`update beads set lease_until = now() - interval '1 second'`.execute(fixture.db);
    const answer = await p.claim('al-1', { assignee: 'polecat-x', session_id: 's-2' });
    expect(answer).toMatchObject({ claimed: true, fence: 2, bead: { revision: 3, metadata: { 'gc.session_id': 's-2' } } });
    expect(answer.bead.metadata).not.toHaveProperty('gc.session_name');
    // The session before cannot go on with what another has taken.
    await expect(p.claims.heartbeat(fixture.city, 'al-1', { assignee: 'polecat-x', fence: 1 })).rejects.toMatchObject({
      problem: 'owned_by_other',
    });
    expect(await p.claims.heartbeat(fixture.city, 'al-1', { assignee: 'polecat-x', fence: 2 })).toMatchObject({ fence: 2 });
  });

  it('forgets the session of the claim before, whoever took the bead from it', async () => {
    await create({ metadata: { 'gc.routed_to': 'mayor' } });
    await p.claim('al-1', { assignee: 'mayor', session_id: 's-1', session_name: 'one' });
    await run((w) => w.update('al-1', { status: 'open' }));
    const at = await head();
    expect(await p.next({ agent: 'mayor', aliases: ['bob'] })).toMatchObject({ action: 'work', bead_id: 'al-1' });
    const { rows } = await sql<{ session_id: string | null }>`select session_id from events where seq > ${at}`.execute(fixture.db);
    expect(rows).toEqual([{ session_id: null }]);
    // Its answer may have been lost: asked again, it is the claimant's.
    expect(await p.next({ agent: 'mayor', aliases: ['bob'] })).toMatchObject({ reason: 'existing_assignment', bead_id: 'al-1' });
  });

  it('starts a step of a graph once', async () => {
    await create({ metadata: { 'gc.formula_contract': 'graph.v2', 'gc.step_id': 'build', 'gc.root_bead_id': 'al-7' } });
    const at = await head();
    for (const _ of [1, 2]) await p.claim('al-1', { assignee: 'mayor', session_id: 's' });
    const { rows } = await sql`
      select type, actor, subject, run_id, session_id, step_id from events where seq > ${at} order by seq`.execute(fixture.db);
    const facts = { actor: 'mayor', subject: 'al-1', run_id: 'al-7', session_id: 's', step_id: 'build' };
    expect(rows).toEqual([
      { type: 'bead.updated', ...facts },
      { type: 'execution.step_started', ...facts },
    ]);
  });

  it('works in a running city that the caller may see only', async () => {
    await create();
    await expect(
      p.claims.claim('alpha', 'al-1', { assignee: 'mayor' }, { actor: 'k', keyId: 'k', scope: 'write', cities: ['beta'] }),
    ).rejects.toMatchObject({ problem: 'city_not_found' });
    await sql`update cities set running = false`.execute(fixture.db);
    await expect(p.claim('al-1', { assignee: 'mayor' })).rejects.toMatchObject({ problem: 'city_not_found' });
    await expect(p.claims.heartbeat(fixture.city, 'al-1', { assignee: 'mayor', fence: 1 })).rejects.toMatchObject({
      problem: 'owned_by_other',
    });
  });
});

describe('a release', () => {
  const release = (id: string, body: { assignee: string; fence?: number; reason?: string }) =>
    p.claims.release(fixture.city, id, body, { actor: 'key', keyId: undefined, scope: 'write', cities: undefined });

  it('gives the bead back with its route', async () => {
    await create({ metadata: { 'gc.routed_to': 'web/polecat' } });
    const { fence } = await p.claim('al-1', { assignee: 'mayor', session_id: 's', work_branch: 'b' });
    const at = await head();
    expect(await release('al-1', { assignee: 'mayor', fence, reason: 'lunch' })).toEqual({ value: { status: 'released' }, index: at + 1 });
    expect(await bead('al-1')).toMatchObject({
      status: 'open',
      assignee: null,
      lease_until: null,
      claim_fence: 2,
      metadata: { 'gc.routed_to': 'web/polecat', 'gc.work_branch': 'b', release_reason: 'lunch' },
    });
    expect(await fixture.events(at)).toMatchObject([{ type: 'bead.updated', actor: 'key' }]);
    expect((await p.next('web/polecat')).bead_id).toBe('al-1');
  });

  // Guard: who has claimed by a name gives the bead back by it.
  it('is for the name that it was claimed by, also that of a member of a pool', async () => {
    await create();
    expect(await p.claim('al-1', { assignee: 'witness-1' })).toMatchObject({ fence: 1, bead: { assignee: 'web/witness-1' } });
    await expect(p.claims.heartbeat(fixture.city, 'al-1', { assignee: 'witness-1', fence: 0 })).rejects.toThrow('has been claimed anew');
    expect(await p.claims.heartbeat(fixture.city, 'al-1', { assignee: 'witness-1', fence: 1 })).toMatchObject({ fence: 1 });
    await expect(release('al-1', { assignee: 'witness-2' })).rejects.toThrow('is owned by web/witness-1');
    await release('al-1', { assignee: 'witness-1', fence: 1 });
    expect(await bead('al-1')).toMatchObject({ status: 'open', assignee: null });
  });

  it('is refused to others, under another fence, and of what is not claimed', async () => {
    await create();
    const { fence } = await p.claim('al-1', { assignee: 'mayor' });
    await expect(release('al-1', { assignee: 'deacon', fence })).rejects.toThrow('conflict: bead al-1 is owned by mayor');
    await expect(release('al-1', { assignee: 'mayor', fence: fence - 1 })).rejects.toMatchObject({
      detail: 'conflict: bead al-1 has been claimed anew by mayor; its fence is 1',
      errors: [{ location: 'body.fence', value: 1 }],
    });
    expect(await bead('al-1')).toMatchObject({ status: 'in_progress', revision: 2 });
    await release('al-1', { assignee: 'mayor' });
    await expect(release('al-1', { assignee: 'mayor', fence })).rejects.toThrow('conflict: bead al-1 is no longer claimed (status: open)');
    await expect(release('al-9', { assignee: 'mayor' })).rejects.toMatchObject({ problem: 'bead_not_found' });
  });
});

describe('a heartbeat', () => {
  it('extends the lease by its length and leaves no other trace', async () => {
    await create();
    const { fence } = await p.claim('al-1', { assignee: 'web/witness', lease: '10m' });
    await sql`update beads set lease_until = now() + interval '1 second'`.execute(fixture.db);
    const before = await bead('al-1');
    const at = await head();
    const beat = await p.claims.heartbeat(fixture.city, 'al-1', { assignee: 'witness', fence });
    const after = await bead('al-1');
    expect(beat).toEqual({ fence, lease_until: after.lease_until!.toISOString() });
    expect(after.lease_until!.getTime()).toBeGreaterThan(before.lease_until!.getTime() + 500_000);
    expect({ ...after, lease_until: before.lease_until }).toEqual(before);
    expect(await head()).toBe(at);
  });

  it('is refused when the bead has changed hands', async () => {
    await create();
    const { fence } = await p.claim('al-1', { assignee: 'mayor' });
    await expect(p.claims.heartbeat(fixture.city, 'al-1', { assignee: 'deacon', fence })).rejects.toThrow('bead al-1 is owned by mayor');
    await expect(p.claims.heartbeat(fixture.city, 'al-1', { assignee: 'mayor', fence: 0 })).rejects.toThrow('has been claimed anew');
    await expect(p.claims.heartbeat(fixture.city, 'al-9', { assignee: 'mayor', fence })).rejects.toMatchObject({
      problem: 'bead_not_found',
    });
    await run((w) => w.close('al-1'));
    await expect(p.claims.heartbeat(fixture.city, 'al-1', { assignee: 'mayor', fence })).rejects.toThrow(
      'no longer claimed (status: closed)',
    );
  });
});
