import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { sql } from 'kysely';
import { ANYBODY } from '../../../contract/principal.js';
import type { Expected } from '../../../platform/http/if-match.js';
import { Idempotency } from '../../../platform/idempotency/idempotency.js';
import { IdempotencyRepository } from '../../../platform/idempotency/idempotency.repository.js';
import { HoldingGate } from '../../../../test/support/gate.js';
import { eventually } from '../../../../test/support/sse.js';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import { RosterRepository } from '../../configuration/roster/roster.repository.js';
import { RosterService } from '../../configuration/roster/roster.service.js';
import type { BeadRecord, NewBead } from '../work/bead-record.js';
import { NO_WORK } from '../work/held.js';
import { finishWait } from '../work/wait-states.js';
import { Work } from '../work/work.js';
import type { WorkService } from '../work/work.service.js';
import { ConvoysRepository } from '../convoys/convoys.repository.js';
import { ConvoysService } from '../convoys/convoys.service.js';
import { DependenciesRepository } from '../dependencies/dependencies.repository.js';
import { DependenciesService } from '../dependencies/dependencies.service.js';
import { BeadChangesService, type Target } from './bead-changes.service.js';
import type { BeadUpdateBody } from './beads.schemas.js';

let fixture: WorkFixture;
let changes: BeadChangesService;

const processOf = (work: WorkService): BeadChangesService =>
  new BeadChangesService(
    work,
    new RosterService(new RosterRepository(fixture.db)),
    new DependenciesService(new DependenciesRepository(fixture.db), work),
    new ConvoysService(new ConvoysRepository(fixture.db), work, new Idempotency(new IdempotencyRepository())),
  );
const create = async (bead: Partial<NewBead> = {}): Promise<string> =>
  (await fixture.work.run(fixture.city, 'maker', (work) => work.create({ rig: '', title: 'x', ...bead }))).value.id;
const target = (id: string, expected?: Expected, actor = 'tester'): Target => ({
  city: fixture.city,
  id,
  caller: { ...ANYBODY, actor },
  expected,
});
const stored = async (id: string): Promise<BeadRecord | undefined> =>
  (await fixture.work.run(fixture.city, 'reader', (work) => work.find(id))).value;
const claim = (id: string, by: string, ms: number): Promise<unknown> =>
  fixture.work.run(fixture.city, by, (work) => work.update(id, { status: 'in_progress', assignee: by, lease: { ms } }));
const kinds = async (): Promise<string[]> => (await fixture.events()).map((e) => `${e.type} ${e.subject} ${e.actor}`);

beforeEach(async () => {
  fixture = await workFixture();
  changes = processOf(fixture.work);
});
afterEach(() => fixture.close());

describe('changing a bead', () => {
  it('changes what is named, says so once, and nothing at all when nothing is different', async () => {
    const id = await create({ labels: ['a', 'b'], metadata: { k: '1', gone: 'x' }, parent: await create(), priority: 3 });
    const { bead, index } = await changes.update(target(id), {
      title: 'new',
      type: 'bug',
      description: 'd',
      priority: 0,
      status: 'in_progress',
      assignee: 'witness',
      labels: ['c', 'a'],
      remove_labels: ['b', 'c'],
      metadata: { k: '2', gone: '' },
      parent: null,
      defer_until: '9999-12-31T23:59:59Z',
    });
    expect(bead.snapshot).toMatchObject({
      title: 'new',
      issue_type: 'bug',
      description: 'd',
      priority: 0,
      status: 'in_progress',
      assignee: 'web/witness',
      labels: ['a'],
      metadata: { k: '2' },
      defer_until: '9999-12-31T23:59:59Z',
      revision: 2,
    });
    expect(bead.snapshot).not.toHaveProperty('parent');
    const last = (await fixture.events()).at(-1)!;
    expect(last).toMatchObject({ seq: index, type: 'bead.updated', actor: 'tester', payload: { bead: bead.snapshot } });
    for (const body of [
      {},
      { title: 'new', labels: ['a'], metadata: { k: '2', none: '' }, parent: '', assignee: 'web/witness' },
    ] satisfies BeadUpdateBody[])
      expect(await changes.update(target(id), body)).toMatchObject({ index, bead: { revision: 2 } });
    expect((await changes.update(target(id), { defer_until: null, assignee: '' })).bead).toMatchObject({
      defer_until: null,
      assignee: null,
    });
  });

  it('closes whatever way it becomes closed, and says so once', async () => {
    const [one, two, three, four] = [await create({ assignee: 'mayor' }), await create(), await create(), await create()];
    await changes.update(target(one), { status: 'closed' });
    await changes.close(target(two), 'done');
    await changes.close(target(two), 'again');
    await changes.remove(target(three), { hard: false, force: false });
    await changes.remove(target(three), { hard: false, force: false });
    await changes.remove(target(four), { hard: true, force: false });
    expect((await kinds()).slice(4)).toEqual(
      [one, two, three].map((id) => `bead.closed ${id} tester`).concat(`bead.deleted ${four} tester`),
    );
    expect((await stored(two))!.metadata).toEqual({ close_reason: 'done' });
    expect(await stored(four)).toBeUndefined();
    await expect(changes.update(target(one), { status: 'in_progress' })).rejects.toMatchObject({ problem: 'wrong_state' });
    await changes.reopen(target(one));
    expect(await stored(one)).toMatchObject({ status: 'open', assignee: 'mayor' });
    await expect(changes.reopen(target(one))).rejects.toMatchObject({ detail: `conflict: bead ${one} is not closed (status: open)` });
  });

  it('sets, adds and takes off labels', async () => {
    const id = await create({ labels: ['a'] });
    expect((await changes.relabel(target(id), { addLabels: ['b', 'a'] })).bead.labels).toEqual(['a', 'b']);
    expect((await changes.relabel(target(id), { labels: ['c', 'b', 'c'] })).bead.labels).toEqual(['c', 'b']);
    expect((await changes.relabel(target(id), { removeLabels: ['c', 'z'] })).bead).toMatchObject({ labels: ['b'], revision: 4 });
    expect((await changes.relabel(target(id), { removeLabels: ['z'] })).bead.revision).toBe(4);
  });

  it('lets nobody pile up labels or metadata without end', async () => {
    const labels = Array.from({ length: 100 }, (_, i) => `l${i}`);
    const metadata = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`k${i}`, 'v']));
    const id = await create({ labels, metadata });
    await expect(changes.update(target(id), { labels: ['more'] })).rejects.toMatchObject({ errors: [{ location: 'body.labels' }] });
    await expect(changes.update(target(id), { metadata: { more: 'v' } })).rejects.toMatchObject({
      errors: [{ location: 'body.metadata' }],
    });
    expect(
      (await changes.update(target(id), { labels: ['more'], remove_labels: ['l0'], metadata: { more: 'v', k0: '' } })).bead.revision,
    ).toBe(2);
    const full = await create({ labels: [...labels, 'from', 'elsewhere'] });
    expect((await changes.close(target(full), undefined)).bead.status).toBe('closed');
  });

  it('refuses what does not exist, and changes nothing', async () => {
    const id = await create();
    await expect(changes.update(target('al-99'), {})).rejects.toMatchObject({ detail: 'not_found: bead al-99 not found' });
    await expect(changes.update(target(id), { title: 'y', parent: 'al-99' })).rejects.toMatchObject({ problem: 'bead_not_found' });
    expect(await stored(id)).toMatchObject({ title: 'x', revision: 1 });
  });
});

describe('parents', () => {
  it('are never their own descendants', async () => {
    const top = await create();
    const middle = await create({ parent: top });
    const bottom = await create({ parent: middle });
    for (const [parent, path] of [
      [bottom, `${top} → ${bottom} → ${middle} → ${top}`],
      [middle, `${top} → ${middle} → ${top}`],
      [top, `${top} → ${top}`],
    ])
      await expect(changes.update(target(top), { parent })).rejects.toMatchObject({
        problem: 'dependency_cycle',
        detail: expect.stringContaining(path!),
      });
    expect((await changes.update(target(bottom), { parent: top })).bead.parent).toBe(top);
    expect((await changes.update(target(middle), { parent: bottom })).bead.parent).toBe(bottom);
  });

  // Guard: the city's work lock. Without it two processes each find no circle and close one together.
  it.each([
    ['with', 'perform pg_advisory_xact_lock(2, p_stream);', false],
    ['without', '', true],
  ])('form no circle between two processes, %s the lock', async (_how, lock, circle) => {
    await sql`create or replace function begin_work(p_stream integer) returns boolean language plpgsql as $$
      begin ${sql.raw(lock)} return exists (select from cities c where c.stream_id = p_stream and c.running); end $$`.execute(fixture.db);
    const [a, b] = [await create(), await create()];
    const settled = await crossed(
      () => changes.update(target(a), { parent: b }),
      (other) => other.update(target(b), { parent: a }),
    );
    expect(settled.map((s) => s.status)).toEqual(['fulfilled', circle ? 'fulfilled' : 'rejected']);
    if (!circle) expect(settled[1]).toMatchObject({ reason: { problem: 'dependency_cycle' } });
    const { rows } = await sql<{ n: number }>`select count(*) as n from beads where parent is not null`.execute(fixture.db);
    expect(rows[0]!.n).toBe(circle ? 2 : 1);
  });
});

describe('a bead that becomes a convoy', () => {
  // Guard: what becomes a convoy does not hold itself.
  it('does not hold itself through what it holds already, also under a new parent', async () => {
    const work = await create();
    const inner = await create({ type: 'convoy', parent: work });
    const outer = await create({ type: 'convoy' });
    const track = (id: string): Promise<unknown> =>
      fixture.work.run(fixture.city, 'tester', (w) => w.putEdge({ issue_id: inner, depends_on_id: id, type: 'tracks' }));
    await track(outer);
    await expect(changes.update(target(work), { type: 'convoy', parent: outer })).rejects.toMatchObject({
      problem: 'dependency_cycle',
      detail: `conflict: a convoy cannot be in itself: ${work} → ${inner} → ${outer} → ${work}`,
    });
    expect((await changes.update(target(work), { parent: outer })).bead.parent).toBe(outer);
    await expect(changes.update(target(work), { type: 'convoy' })).rejects.toMatchObject({ problem: 'dependency_cycle' });
    expect((await changes.update(target(work), { type: 'convoy', parent: null })).bead.issue_type).toBe('convoy');
  });
});

describe('If-Match', () => {
  it('lets a write through at this revision only, at any with *', async () => {
    const id = await create();
    await changes.update(target(id, 1), { title: 'two' });
    const refused = { detail: `revision_mismatch: bead ${id} is at revision 2, expected 1` };
    await expect(changes.update(target(id, 1), { title: 'three' })).rejects.toMatchObject(refused);
    await expect(changes.update(target(id, 1), {})).rejects.toMatchObject(refused);
    await expect(changes.assign(target(id, 1), 'mayor')).rejects.toMatchObject(refused);
    await expect(changes.close(target(id, 1), undefined)).rejects.toMatchObject(refused);
    await expect(changes.reopen(target(id, 1))).rejects.toMatchObject(refused);
    await expect(changes.relabel(target(id, 1), { labels: ['l'] })).rejects.toMatchObject(refused);
    await expect(changes.remove(target(id, 1), { hard: false, force: false })).rejects.toMatchObject(refused);
    await expect(changes.remove(target(id, 1), { hard: true, force: false })).rejects.toMatchObject(refused);
    expect(await kinds()).toHaveLength(2);
    expect((await changes.update(target(id, '*'), { title: 'three' })).bead.revision).toBe(3);
    await changes.remove(target(id, 3), { hard: true, force: false });
  });

  // Guard: the city's work lock. Without it both writers see the revision that they expect.
  it.each([
    ['with', 'perform pg_advisory_xact_lock(2, p_stream);', 'rejected'],
    ['without', '', 'fulfilled'],
  ])('lets one of two processes win, %s the lock', async (_how, lock, second) => {
    await sql`create or replace function begin_work(p_stream integer) returns boolean language plpgsql as $$
      begin ${sql.raw(lock)} return exists (select from cities c where c.stream_id = p_stream and c.running); end $$`.execute(fixture.db);
    const id = await create();
    const settled = await crossed(
      () => changes.update(target(id, 1), { title: 'mine' }),
      (other) => other.update(target(id, 1), { title: 'yours' }),
    );
    expect(settled.map((s) => s.status)).toEqual(['fulfilled', second]);
    if (second === 'rejected') expect(settled[1]).toMatchObject({ reason: { problem: 'revision_mismatch' } });
    expect((await stored(id))!.title).toBe(second === 'rejected' ? 'mine' : 'yours');
  });
});

describe('an owner', () => {
  it('keeps claimed work, unless who takes it has seen the claim', async () => {
    const id = await create();
    await claim(id, 'mayor', 60_000);
    const refused = { problem: 'owned_by_other', detail: `conflict: bead ${id} is claimed by mayor` };
    await expect(changes.assign(target(id), 'deacon')).rejects.toMatchObject(refused);
    await expect(changes.assign(target(id, '*'), '')).rejects.toMatchObject(refused);
    await expect(changes.update(target(id), { title: 'y', assignee: 'deacon' })).rejects.toMatchObject(refused);
    expect(await stored(id)).toMatchObject({ title: 'x', assignee: 'mayor' });
    expect((await changes.assign(target(id), 'mayor')).bead.revision).toBe(2);
    const { bead } = await changes.assign(target(id, 2), 'deacon');
    expect(bead).toMatchObject({ assignee: 'deacon', lease_until: null, claim_fence: 2 });
  });

  it('may give it away', async () => {
    const id = await create();
    await claim(id, 'mayor', 60_000);
    expect((await changes.assign(target(id, undefined, 'mayor'), 'deacon')).bead.assignee).toBe('deacon');
  });

  it('loses it with the lease, or without one', async () => {
    const [expired, unleased] = [await create(), await create({ assignee: 'mayor' })];
    await claim(expired, 'mayor', 60_000);
    await sql`update beads set lease_until = now() - interval '1 second' where id = ${expired}`.execute(fixture.db);
    for (const id of [expired, unleased]) expect((await changes.assign(target(id), 'deacon')).bead.assignee).toBe('deacon');
  });
});

describe('a session', () => {
  const as = (id: string, ...names: string[]): Target => {
    const { name: city, streamId } = fixture.city;
    const session = { id: names[0]!, pk: 1, city, streamId, agentName: names[0]!, names };
    return { ...target(id), caller: { ...ANYBODY, actor: names[0]!, session } };
  };

  it('changes nothing that another one has taken up since it asked', async () => {
    for (const change of [
      (at: BeadChangesService, id: string) => at.close(as(id, 'mayor'), 'done'),
      (at: BeadChangesService, id: string) => at.update(as(id, 'mayor'), { title: 'mine' }),
      (at: BeadChangesService, id: string) => at.assign(as(id, 'mayor'), 'mayor'),
    ]) {
      const id = await create();
      const [, refused] = await crossed(
        () => claim(id, 'deacon', 60_000),
        (other) => change(other, id),
      );
      expect(refused).toMatchObject({ reason: { problem: 'forbidden', detail: `forbidden: bead ${id} is being worked on by deacon` } });
      expect(await stored(id)).toMatchObject({ title: 'x', assignee: 'deacon', status: 'in_progress', revision: 2 });
    }
  });

  // Guard: a session takes no work out of the hands of another one.
  it('holds back nothing that another one has taken up, and labels it otherwise', async () => {
    const id = await create();
    await claim(id, 'deacon', 60_000);
    for (const change of [{ addLabels: ['hold:x'] }, { labels: ['a', 'hold:x'] }])
      await expect(changes.relabel(as(id, 'mayor'), change)).rejects.toMatchObject({
        detail: `forbidden: bead ${id} is being worked on by deacon`,
      });
    expect((await changes.relabel(as(id, 'mayor'), { addLabels: ['seen'] })).bead.labels).toEqual(['seen']);
    expect((await changes.relabel(as(id, 'deacon'), { addLabels: ['hold:x'] })).bead.labels).toContain('hold:x');
    expect((await changes.relabel(as(id, 'mayor'), { addLabels: ['hold:x', 'too'] })).bead.labels).toContain('too');
    const free = await create();
    expect((await changes.relabel(as(free, 'mayor'), { addLabels: ['hold:x'] })).bead.labels).toEqual(['hold:x']);
  });

  // Guard: what a drain has for itself no session lets go.
  it('lets nothing go that a drain holds, and takes other holds away', async () => {
    const id = await create();
    const hold = 'hold:drain:al-900';
    await changes.relabel(target(id), { labels: [hold, 'hold:x', 'seen'] });
    const held = { detail: `forbidden: bead ${id} is held by a drain, which sessions leave to let it go (${hold})` };
    for (const change of [{ removeLabels: [hold] }, { labels: ['seen'] }, { addLabels: [hold], removeLabels: [hold] }])
      await expect(changes.relabel(as(id, 'mayor'), change)).rejects.toMatchObject(held);
    await expect(changes.update(as(id, 'mayor'), { remove_labels: [hold] })).rejects.toMatchObject(held);
    expect((await changes.update(as(id, 'mayor'), { remove_labels: ['hold:x'] })).bead.labels).toEqual([hold, 'seen']);
    expect((await changes.relabel(as(id, 'mayor'), { labels: [hold] })).bead.labels).toEqual([hold]);
    await expect(changes.update(as(id, 'mayor'), { status: 'in_progress', assignee: 'mayor' })).rejects.toMatchObject({
      detail: `forbidden: bead ${id} is held by a drain, which has it for itself (${hold})`,
    });
    const free = await create();
    const sets = { detail: `forbidden: only a drain holds beads for itself: sessions set no ${hold}` };
    for (const change of [{ addLabels: [hold] }, { labels: [hold] }])
      await expect(changes.relabel(as(free, 'mayor'), change)).rejects.toMatchObject(sets);
    await expect(changes.update(as(free, 'mayor'), { labels: [hold] })).rejects.toMatchObject(sets);
    expect((await changes.relabel(target(id), { labels: [] })).bead.labels).toEqual([]);
  });

  // Guard: no label takes work out of the hands of another one.
  it('gives it none of the labels that make it no work', async () => {
    const { rows } = await sql<{ labels: string[] }>`
      select array(select m[1] from regexp_matches(substring(pg_get_expr(d.adbin, d.adrelid) from 'labels && (.*)'), '''([^'']+)''', 'g') m) as labels
      from pg_attrdef d join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
      where d.adrelid = 'beads'::regclass and a.attname = 'workable'`.execute(fixture.db);
    expect(rows[0]!.labels).toEqual(NO_WORK);
    const id = await create();
    await claim(id, 'deacon', 60_000);
    for (const label of NO_WORK)
      await expect(changes.relabel(as(id, 'mayor'), { addLabels: [label] })).rejects.toMatchObject({
        detail: `forbidden: bead ${id} is being worked on by deacon`,
      });
    expect((await changes.relabel(as(id, 'deacon'), { addLabels: [...NO_WORK] })).bead.labels).toEqual(NO_WORK);
  });

  // Guard: who seems to be at work is not ended, and its pool waits for it.
  it('says of itself alone that it is at work', async () => {
    const id = await create({ metadata: { 'gc.session_name': 'n-9' } });
    const own = as(id, 'mayor', 's-1');
    for (const key of ['gc.session_id', 'gc.session_name'])
      await expect(changes.update(own, { status: 'in_progress', assignee: 'mayor', metadata: { [key]: 's-2' } })).rejects.toMatchObject({
        detail: `forbidden: metadata ${key} has to name mayor: sessions say of no other that it is at work`,
      });
    expect((await changes.update(own, { title: 'kept' })).bead.metadata).toEqual({ 'gc.session_name': 'n-9' });
    for (const stamp of ['s-1', ''])
      expect((await changes.update(own, { metadata: { 'gc.session_id': stamp, 'gc.session_name': '' } })).bead.metadata).toEqual(
        stamp === '' ? {} : { 'gc.session_id': stamp },
      );
    expect((await changes.update(target(id), { metadata: { 'gc.session_id': 's-2' } })).bead.metadata).toEqual({ 'gc.session_id': 's-2' });
  });

  it('changes what it has taken up under any of its names, and what nobody is at', async () => {
    const [own, given] = [await create(), await create({ assignee: 'deacon' })];
    await claim(own, 'boss', 60_000);
    for (const id of [own, given]) expect((await changes.close(as(id, 'mayor', 'boss'), 'done')).bead.status).toBe('closed');
  });
});

describe('the wait of another session', () => {
  const as = (id: string, name = 'mayor'): Target => {
    const { name: city, streamId } = fixture.city;
    return {
      ...target(id),
      caller: { ...ANYBODY, actor: name, session: { id: name, pk: 1, city, streamId, agentName: name, names: [name] } },
    };
  };
  const wait = (to: string, metadata: Record<string, string> = {}): Promise<string> =>
    create({ type: 'gate', labels: ['gc:wait'], metadata: { state: 'pending', session_id: to, registered_session: to, ...metadata } });

  // Guard: a session leaves the waits of others as they are.
  it('stays as it is', async () => {
    const id = await wait('deacon');
    for (const change of [
      () => changes.close(as(id), 'no'),
      () => changes.update(as(id), { metadata: { state: 'ready' } }),
      () => changes.update(as(id), { status: 'closed' }),
      () => changes.assign(as(id), 'mayor'),
      () => changes.relabel(as(id), { removeLabels: ['gc:wait'] }),
      () => changes.relabel(as(id), { addLabels: ['x'] }),
    ])
      await expect(change()).rejects.toMatchObject({ problem: 'forbidden', detail: `forbidden: wait ${id} belongs to deacon` });
    expect(await stored(id)).toMatchObject({ status: 'open', revision: 1 });
    await changes.close(target(id), 'by hand');
    await expect(changes.reopen(as(id))).rejects.toMatchObject({ problem: 'wrong_state' });
    const own = await wait('mayor');
    expect((await changes.update(as(own), { description: 'a note' })).bead.description).toBe('a note');
    expect((await changes.close(as(own), 'done')).bead.metadata).toMatchObject({ state: 'canceled' });
  });

  // Guard: what a wait tells comes from the service, so no session says whom it tells.
  it('is made of no bead', async () => {
    const detail = 'forbidden: sessions may not make a bead a wait, or say whom it tells: they register waits';
    const [task, gate, own] = [await create({ labels: ['gc:wait'] }), await create({ type: 'gate' }), await wait('mayor')];
    for (const change of [
      () => changes.update(as(task), { type: 'gate', metadata: { session_id: 'deacon' } }),
      () => changes.update(as(gate), { labels: ['gc:wait'] }),
      () => changes.relabel(as(gate), { labels: ['gc:wait'] }),
      () => changes.relabel(as(gate), { addLabels: ['gc:wait'] }),
      () => changes.update(as(own), { metadata: { session_id: 'deacon' } }),
      () => changes.update(as(own), { metadata: { registered_session: 'deacon' } }),
      () => changes.update(as(own), { metadata: { registered_session: '' } }),
    ])
      await expect(change()).rejects.toMatchObject({ problem: 'forbidden', detail });
    expect((await changes.relabel(target(gate), { addLabels: ['gc:wait'] })).bead.labels).toEqual(['gc:wait']);
  });
});

describe('removing a bead for good', () => {
  it('is refused while others depend on it, unless forced', async () => {
    const [needed, dependent] = [await create(), await create()];
    await fixture.work.run(fixture.city, 'maker', (work) => work.putEdge({ issue_id: dependent, depends_on_id: needed, type: 'blocks' }));
    await expect(changes.remove(target(needed), { hard: true, force: false })).rejects.toMatchObject({
      problem: 'conflict',
      detail: expect.stringContaining(`has dependents: ${dependent};`),
    });
    expect(await changes.remove(target(needed), { hard: true, force: true })).toMatchObject({ status: 'deleted' });
    expect(await stored(dependent)).toMatchObject({ ready: true, open_blockers: 0 });
    expect((await kinds()).slice(3)).toEqual([`bead.updated ${dependent} tester`, `bead.deleted ${needed} tester`]);
  });

  // Guard: all writers of the city wait for a refusal, which names ten.
  it('is refused without reading all that depend on it', async () => {
    const needed = await create();
    const { value: ids } = await fixture.work.run(fixture.city, 'maker', async (work) => {
      const reserved = await work.reserve('', 1_100);
      await work.createAll(
        reserved.map((id) => ({ rig: '', title: 'x', id })),
        reserved.map((id) => ({ issue_id: id, depends_on_id: needed, type: 'blocks' })),
      );
      return reserved;
    });
    const read = jest.spyOn(Work.prototype, 'edges');
    const named = [...ids].sort().slice(0, 10).join(', ');
    await expect(changes.remove(target(needed), { hard: true, force: false })).rejects.toMatchObject({
      detail: `conflict: bead ${needed} has dependents: ${named} and more than 990 more; force=true removes it all the same`,
    });
    const edges = await Promise.all(read.mock.results.map(({ value }) => value as Promise<unknown[]>));
    read.mockRestore();
    expect(edges.flat()).toHaveLength(1_001);
  });
});

/** The first process is held just before its commit until the second waits for it or for what it has locked. */
async function crossed(
  first: () => Promise<unknown>,
  second: (other: BeadChangesService) => Promise<unknown>,
): Promise<PromiseSettledResult<unknown>[]> {
  const gate = new HoldingGate();
  fixture.failpoints.arm('tx.before_commit', gate.action(1));
  const one = first();
  await eventually(() => gate.held === 1);
  const two = second(processOf(fixture.another()));
  const settled = Promise.allSettled([one, two]);
  await eventually(async () => {
    const { rows } = await sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(
      fixture.db,
    );
    return rows.length > 0;
  });
  gate.release();
  return settled;
}

describe('what other families rely on', () => {
  it('does not open a wait that has finished', async () => {
    const id = await create({ type: 'gate', labels: ['gc:wait'], metadata: { state: 'pending' } });
    await fixture.work.run(fixture.city, 'tester', async (work) => finishWait(work, await work.require(id), 'canceled'));
    await expect(changes.reopen(target(id))).rejects.toMatchObject({ problem: 'wrong_state' });
    await expect(changes.update(target(id), { status: 'open' })).rejects.toMatchObject({ problem: 'wrong_state' });
    expect(await stored(id)).toMatchObject({ status: 'closed', metadata: { state: 'canceled' } });
    const gate = await create({ type: 'gate' });
    await changes.close(target(gate), undefined);
    expect((await changes.reopen(target(gate))).bead.status).toBe('open');
  });

  it('does not put a convoy into itself by its parent', async () => {
    const [outer, middle, inner] = [await create({ type: 'convoy' }), await create({ type: 'convoy' }), await create({ type: 'convoy' })];
    await fixture.work.run(fixture.city, 'tester', async (work) => {
      await work.putEdge({ issue_id: outer, depends_on_id: middle, type: 'tracks' });
      await work.putEdge({ issue_id: middle, depends_on_id: inner, type: 'tracks' });
    });
    await expect(changes.update(target(outer), { parent: inner })).rejects.toMatchObject({ problem: 'dependency_cycle' });
    expect((await changes.update(target(inner), { parent: outer })).bead.parent).toBe(outer);
  });

  it('keeps the reason of closing beside as much metadata as a bead may have', async () => {
    const metadata = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`k${n}`, 'v']));
    const id = await create({ metadata });
    expect((await changes.close(target(id), 'done')).bead.metadata).toMatchObject({ ...metadata, close_reason: 'done' });
  });

  it('forgets the session of an owner who loses the bead, and says in no event that it is at work', async () => {
    const id = await create({ assignee: 'a', metadata: { 'gc.session_id': 's-1', 'gc.session_name': 'n-1', 'gc.work_branch': 'b' } });
    expect((await changes.assign(target(id), 'a')).bead.metadata).toMatchObject({ 'gc.session_id': 's-1' });
    expect((await changes.assign(target(id), 'b')).bead.metadata).toEqual({ 'gc.work_branch': 'b' });
    const given = await changes.update(target(id), { assignee: 'c', metadata: { 'gc.session_id': 's-3' } });
    expect(given.bead.metadata).toEqual({ 'gc.work_branch': 'b', 'gc.session_id': 's-3' });
  });
});
