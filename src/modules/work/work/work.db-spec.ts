import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { Bead } from '../../../contract/beads.schemas.js';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import type { BeadRecord, NewBead } from './bead-record.js';
import type { Work } from './work.js';

let fixture: WorkFixture;
beforeEach(async () => {
  fixture = await workFixture();
});
afterEach(() => fixture.close());

const run = <T>(body: (work: Work) => Promise<T>): Promise<T> => fixture.work.run(fixture.city, 'tester', body).then((done) => done.value);
const create = (title: string, more: Partial<NewBead> = {}): Promise<BeadRecord> => run((w) => w.create({ rig: '', title, ...more }));
const kinds = async (above = 0): Promise<string[]> => (await fixture.events(above)).map((e) => `${e.type} ${e.subject}`);

describe('a transaction on work', () => {
  it('gives ids by rig and one created event with the whole bead', async () => {
    const bead = await create('first', { labels: ['a', 'b', 'a'], metadata: { k: 'v' }, priority: 1 });
    await create('second', { rig: 'web' });
    expect(await create('third')).toMatchObject({ id: 'al-2', revision: 1, ready: true });
    expect(bead.id).toBe('al-1');
    const [event] = await fixture.events();
    expect(event).toMatchObject({
      type: 'bead.created',
      actor: 'tester',
      subject: 'al-1',
      payload: { bead: { labels: ['a', 'b'], is_blocked: false } },
    });
    expect(Bead.parse(event!.payload.bead)).toEqual(bead.snapshot);
    expect(await kinds()).toEqual(['bead.created al-1', 'bead.created web-1', 'bead.created al-2']);
  });

  it('tells of many that it makes at once what it tells of each alone', async () => {
    const before = await create('before');
    const made = await run(async (w) => {
      const [first, second] = (await w.reserve('', 2)) as [string, string];
      const beads = [first, second].map((id) => ({ id, rig: '', title: id, labels: ['l'], metadata: { k: 'v' }, runId: first, ref: id }));
      const edges = [first, before.id].map((on) => ({ issue_id: second, depends_on_id: on, type: on === first ? 'blocks' : 'related' }));
      return w.createAll(beads, edges);
    });
    expect(made[1]!.snapshot).toMatchObject({ needs: [made[0]!.id], dependencies: [{ type: 'related' }, { type: 'blocks' }] });
    const alone = await run((w) => w.findAll(made.map(({ id }) => id)));
    expect(made).toEqual(alone);
  });

  it('refuses an unknown rig and leaves nothing behind', async () => {
    await expect(create('x', { rig: 'nowhere' })).rejects.toMatchObject({ problem: 'rig_not_found' });
    expect(await kinds()).toEqual([]);
    expect((await create('x')).id).toBe('al-1');
  });

  it('writes and reports only what really changes', async () => {
    await create('x', { metadata: { a: '1', b: '2' }, labels: ['l'] });
    const same = await run((w) => w.update('al-1', { title: 'x', addLabels: ['l'], metadata: { a: '1', c: '' } }));
    expect(same.revision).toBe(1);
    const changed = await run((w) =>
      w.update('al-1', { metadata: { b: '', c: '3' }, addLabels: ['m'], removeLabels: ['l', 'm'], priority: 0 }),
    );
    expect(changed).toMatchObject({ revision: 2, metadata: { a: '1', c: '3' }, labels: [], priority: 0, claim_fence: 0 });
    expect(await kinds()).toEqual(['bead.created al-1', 'bead.updated al-1']);
  });

  it('makes one event a bead, closed when it ended closed, deleted with the last snapshot', async () => {
    await create('x');
    await create('y');
    await run(async (w) => {
      await w.update('al-1', { title: 'z' });
      await w.close('al-1', 'done');
      await w.close('al-1', 'again');
      await w.remove('al-2');
    });
    const events = await fixture.events(2);
    expect(events.map((e) => [e.type, e.subject])).toEqual([
      ['bead.closed', 'al-1'],
      ['bead.deleted', 'al-2'],
    ]);
    expect(events[0]!.payload).toMatchObject({ bead: { status: 'closed', title: 'z', metadata: { close_reason: 'done' } } });
    expect(events[1]!.payload).toMatchObject({ bead: { title: 'y' } });
  });

  it('frees dependents when their last blocker closes, and blocks them again when it reopens', async () => {
    for (const title of ['work', 'one', 'two']) await create(title);
    await run(async (w) => {
      await w.putEdge({ issue_id: 'al-1', depends_on_id: 'al-2', type: 'blocks' });
      await w.putEdge({ issue_id: 'al-1', depends_on_id: 'al-3', type: 'waits-for' });
    });
    expect(await run((w) => w.find('al-1'))).toMatchObject({ open_blockers: 2, ready: false, snapshot: { is_blocked: true } });
    const at = (await fixture.events()).length;
    await run((w) => w.close('al-2'));
    expect(await kinds(at)).toEqual(['bead.closed al-2']);
    await run((w) => w.close('al-3'));
    expect(await kinds(at + 1)).toEqual(['bead.closed al-3', 'bead.updated al-1']);
    expect(await run((w) => w.find('al-1'))).toMatchObject({ open_blockers: 0, ready: true, revision: 4 });
    await run((w) => w.reopen('al-2'));
    expect(await kinds(at + 3)).toEqual(['bead.updated al-2', 'bead.updated al-1']);
    await run((w) => w.remove('al-2'));
    expect(await kinds(at + 5)).toEqual(['bead.updated al-1', 'bead.deleted al-2']);
    expect(await run((w) => w.find('al-1'))).toMatchObject({ ready: true, snapshot: { dependencies: [{ depends_on_id: 'al-3' }] } });
  });

  it('does not count edges that inform', async () => {
    await create('a');
    await create('b');
    await run((w) => w.putEdge({ issue_id: 'al-1', depends_on_id: 'al-2', type: 'related' }));
    expect(await run((w) => w.find('al-1'))).toMatchObject({ ready: true });
    expect(await run((w) => w.putEdge({ issue_id: 'al-1', depends_on_id: 'al-2', type: 'blocks' }))).toBe(true);
    expect(await run((w) => w.find('al-1'))).toMatchObject({ ready: false });
    expect(await run((w) => w.deleteEdge('al-1', 'al-2'))).toBe(true);
    expect(await run((w) => w.deleteEdge('al-1', 'al-2'))).toBe(false);
    expect(await run((w) => w.find('al-1'))).toMatchObject({ ready: true });
  });

  it('ends a lease with the claim and raises the fence with every change of hands', async () => {
    await create('x');
    const claimed = await run((w) => w.update('al-1', { status: 'in_progress', assignee: 'mayor', lease: { ms: 60_000 } }));
    expect(claimed).toMatchObject({ claim_fence: 1, lease_ms: 60_000 });
    const released = await run((w) => w.update('al-1', { status: 'open', assignee: null }));
    expect(released).toMatchObject({ claim_fence: 2, lease_until: null });
    await run((w) => w.close('al-1'));
    await expect(run((w) => w.update('al-1', { status: 'in_progress' }))).rejects.toMatchObject({ problem: 'wrong_state' });
    expect(await run((w) => w.reopen('al-1'))).toMatchObject({ claim_fence: 3, status: 'open' });
    await expect(run((w) => w.reopen('al-1'))).rejects.toMatchObject({ detail: 'conflict: bead al-1 is not closed (status: open)' });
  });

  it('takes empty text and metadata without a value for not given', async () => {
    const bead = await create('x', { assignee: '', description: '', parent: '', author: '', metadata: { k: '', constructor: '1' } });
    expect(bead).toMatchObject({ assignee: null, description: null, parent: null, metadata: { constructor: '1' } });
    expect(bead.snapshot).not.toHaveProperty('assignee');
    expect(bead.metadata).not.toHaveProperty('k');
  });

  it('takes labels for a set: another order is no change', async () => {
    await create('x', { labels: ['a', 'b'] });
    const same = await run((w) => w.update('al-1', { labels: ['b'], addLabels: ['a', 'b'] }));
    expect(same).toMatchObject({ revision: 1, labels: ['a', 'b'] });
    expect(await kinds()).toEqual(['bead.created al-1']);
  });

  it('extends a lease without a new revision and without an event', async () => {
    await create('x');
    const claimed = await run((w) => w.update('al-1', { status: 'in_progress', assignee: 'mayor', lease: { ms: 60_000 } }));
    const extended = await run((w) => w.update('al-1', { lease: { ms: 3_600_000 } }));
    expect(extended).toMatchObject({ revision: 2, claim_fence: 1, lease_ms: 3_600_000, snapshot: claimed.snapshot });
    expect(extended.lease_until!.getTime()).toBeGreaterThan(claimed.lease_until!.getTime());
    expect(await kinds(2)).toEqual([]);
  });

  it('counts anew what it has read before, also where the count decides nothing', async () => {
    for (const title of ['work', 'one', 'two']) await create(title);
    await run(async (w) => {
      await w.putEdges('al-1', ['al-2', 'al-3'], 'blocks');
      await w.close('al-2');
      expect(await w.find('al-1')).toMatchObject({ open_blockers: 1, ready: false });
    });
  });

  it('refuses an edge to a bead that is not there', async () => {
    await create('x');
    const missing = { problem: 'bead_not_found', detail: 'not_found: bead al-9 not found' };
    await expect(run((w) => w.putEdge({ issue_id: 'al-1', depends_on_id: 'al-9', type: 'blocks' }))).rejects.toMatchObject(missing);
    await expect(run((w) => w.putEdges('al-1', ['al-9'], 'tracks'))).rejects.toMatchObject(missing);
  });

  // Guard: no bead has more edges from it than what is said of it at each of its changes can hold.
  it('lets a bead lead to 5,000 others, and keeps more that it has, which can go', async () => {
    const ids = await run(async (work) => {
      const all = await work.reserve('', 5003);
      await work.createAll(
        all.map((id) => ({ id, rig: '', title: 'x' })),
        [],
      );
      return all;
    });
    const [one, ...others] = ids as [string, ...string[]];
    await run((work) => work.putEdges(one, others.slice(0, 4999), 'tracks'));
    const beyond = {
      problem: 'validation_failed',
      errors: [{ message: `${one} would have more than 5000 dependencies`, location: 'bead.dependencies' }],
    };
    await expect(run((work) => work.putEdges(one, others.slice(4998, 5001), 'tracks'))).rejects.toMatchObject(beyond);
    expect(await run((work) => work.putEdge({ issue_id: one, depends_on_id: others[4999]!, type: 'blocks' }))).toBe(true);
    await expect(run((work) => work.putEdge({ issue_id: one, depends_on_id: others[5000]!, type: 'blocks' }))).rejects.toMatchObject(
      beyond,
    );
    await run((work) => work.putEdges(one, others.slice(5000), 'blocks', false));
    // It has two more: they may change and go.
    expect(await run((work) => work.putEdges(one, others.slice(5000), 'related'))).toBe(true);
    expect(await run((work) => work.putEdges(one, others.slice(0, 4999), 'tracks'))).toBe(false);
    expect(await run((work) => work.deleteEdges(one, others.slice(4999)))).toBe(true);
    expect(await run((work) => work.putEdge({ issue_id: one, depends_on_id: others[5001]!, type: 'blocks' }))).toBe(true);
  });

  it('forgets why a bead was closed when it opens again', async () => {
    await create('x');
    await run((w) => w.close('al-1', 'done'));
    expect((await run((w) => w.reopen('al-1'))).metadata).toEqual({});
    expect((await run((w) => w.close('al-1'))).metadata).toEqual({});
  });

  it('goes on after a part that was refused as if it had not been tried', async () => {
    await create('x');
    await create('y');
    await run(async (w) => {
      await w.update('al-1', { title: 'before' });
      const tried = w.attempt(async () => {
        await w.update('al-1', { title: 'tried' });
        await w.putEdge({ issue_id: 'al-1', depends_on_id: 'al-2', type: 'blocks' });
        await w.close('al-2');
        await w.create({ rig: '', title: 'gone' });
        await w.require('al-9');
      });
      await expect(tried).rejects.toMatchObject({ problem: 'bead_not_found' });
      expect(await w.find('al-1')).toMatchObject({ title: 'before', revision: 2 });
      expect(await w.find('al-2')).toMatchObject({ status: 'open' });
      expect(await w.find('al-3')).toBeUndefined();
      expect(await w.attempt(() => w.create({ rig: '', title: 'kept' }))).toMatchObject({ id: 'al-3', title: 'kept' });
      await w.update('al-2', { title: 'after' });
    });
    expect(await kinds(2)).toEqual(['bead.updated al-1', 'bead.created al-3', 'bead.updated al-2']);
  });

  it('goes on after a part of a part that has failed, and forgets both where the whole does', async () => {
    await create('x');
    const part = (w: Work) => async () => {
      await w.update('al-1', { title: 'kept' });
      const inner = w.attempt(async () => {
        await w.update('al-1', { title: 'tried' });
        await w.create({ rig: '', title: 'gone' });
        await sql`select 1 / 0`.execute(w.tx);
      });
      await expect(inner).rejects.toThrow('division by zero');
      await w.attempt(() => w.create({ rig: '', title: 'more' }));
      expect(await w.find('al-1')).toMatchObject({ title: 'kept' });
    };
    await run(async (w) => {
      const whole = w.attempt(async () => {
        await part(w)();
        await w.require('al-9');
      });
      await expect(whole).rejects.toMatchObject({ problem: 'bead_not_found' });
      expect([await w.find('al-1'), await w.find('al-2')]).toMatchObject([{ title: 'x', revision: 1 }, undefined]);
      await w.attempt(part(w));
    });
    expect(await kinds(1)).toEqual(['bead.updated al-1', 'bead.created al-2']);
  });

  // Guard: what comes after it would go on in a transaction that is over.
  it('goes on after a part that need not go well unless that has ended it', async () => {
    const told: unknown[] = [];
    const ended = run(async (w) => {
      told.push(await w.succeeds(() => w.require('al-9')), await w.succeeds(() => w.create({ rig: '', title: 'x' })));
      const part = w.succeeds(() => sql`select pg_terminate_backend(pg_backend_pid())`.execute(w.tx));
      told.push(await part.catch((error: unknown) => error));
    });
    await expect(ended).rejects.toThrow();
    expect(told).toMatchObject([false, true, { code: '57P01' }]);
  });

  it('works in a running city only', async () => {
    await sql`update cities set running = false`.execute(fixture.db);
    await expect(create('x')).rejects.toMatchObject({ problem: 'city_not_found' });
  });

  it('counts blockers right whatever two processes do at once', async () => {
    const other = fixture.another();
    for (let i = 1; i <= 6; i++) await create(`b${i}`);
    const services = [fixture.work, other];
    await Promise.all(
      Array.from({ length: 60 }, (_, i) =>
        services[i % 2]!.run(fixture.city, 'racer', async (w) => {
          const [a, b] = [`al-${(i % 3) + 1}`, `al-${(i % 3) + 4}`];
          if (i % 4 === 0) await w.putEdge({ issue_id: a, depends_on_id: b, type: 'blocks' });
          else if (i % 4 === 1) await w.close(b);
          else if (i % 4 === 2) await w.update(b, { status: 'open' });
          else await w.deleteEdge(a, b);
        }),
      ),
    );
    const { rows } = await sql<{ wrong: number }>`
      select count(*) as wrong from beads b where open_blockers <> (
        select count(*) from bead_dependencies d join beads t on (t.stream_id, t.id) = (d.stream_id, d.depends_on_id)
        where (d.stream_id, d.issue_id) = (b.stream_id, b.id) and d.blocking and t.status <> 'closed')`.execute(fixture.db);
    expect(rows).toEqual([{ wrong: 0 }]);
  });
});
