import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { sql } from 'kysely';
import { ANYBODY } from '../../../contract/principal.js';
import type { WorkService } from '../work/work.service.js';
import { waitFixture, type WaitFixture } from './testing/wait-fixture.js';
import { WaitCreateInputBody, type WaitsQuery } from './waits.schemas.js';

let t: WaitFixture;
beforeEach(async () => {
  t = await waitFixture();
});
afterEach(() => t.fixture.close());

describe('a new wait', () => {
  it('is a gate bead with its registration, waiting over edges', async () => {
    const [a, b] = await t.beads(2);
    const wait = await t.create([a!, b!, a!], { note: 'go on', expires_at: '2999-01-01T01:00:00+01:00' });
    expect(wait).toMatchObject({
      session_id: 'mayor',
      session_name: 'mayor',
      kind: 'deps',
      state: 'pending',
      status: 'open',
      note: 'go on',
      dep_ids: [a, b],
      dep_mode: 'all',
      registered_epoch: '1',
      delivery_attempt: '1',
      expires_at: '2999-01-01T00:00:00.000Z',
      labels: ['gc:wait', 'session:mayor'],
    });
    expect(wait).not.toHaveProperty('nudge_id');
    const event = (await t.fixture.events()).at(-1)!;
    expect(event).toMatchObject({ type: 'bead.created', subject: wait.id, actor: 'api' });
    expect(event.payload.bead).toMatchObject({
      issue_type: 'gate',
      title: 'wait:mayor',
      no_history: true,
      is_blocked: true,
      dependencies: [
        { depends_on_id: a, type: 'waits-for' },
        { depends_on_id: b, type: 'waits-for' },
      ],
    });
    expect(await t.get(wait.id)).toEqual(wait);
  });

  it('belongs to the agent that its session names, or to the name itself', async () => {
    expect(await t.create([], { kind: 'manual', session: 'witness' })).toMatchObject({ session_id: 'web/witness', dep_ids: [] });
    expect(await t.create([], { kind: 'manual', session: 'polecat' })).toMatchObject({ session_id: 'polecat' });
    expect((await t.list({ session: 'witness' })).waits).toHaveLength(1);
    expect((await t.list({ session: 'web/witness' })).waits).toHaveLength(1);
    expect((await t.list({ session: 'nobody' })).waits).toEqual([]);
  });

  it.each<[string, number, object, string]>([
    ['all, one of two closed', 1, {}, 'pending'],
    ['all, both closed', 2, {}, 'ready'],
    ['any, none closed', 0, { dep_mode: 'any' }, 'pending'],
    ['any, one closed', 1, { dep_mode: 'any' }, 'ready'],
  ])('counts what is closed already: %s', async (_what, closed, more, state) => {
    const ids = await t.beads(2);
    for (const id of ids.slice(0, closed)) await t.close(id);
    const wait = await t.create(ids, more);
    expect(wait.state).toBe(state);
    expect(wait.nudge_id).toBe(state === 'ready' ? `wait-${wait.id}-1-1` : undefined);
    expect(await t.told(wait.id)).toEqual([state]);
  });

  it('is refused for beads that are not there and for times that are over, and leaves nothing', async () => {
    const [a] = await t.beads(1);
    await expect(t.create([a!, 'al-99'])).rejects.toMatchObject({ detail: 'not_found: bead al-99 not found' });
    await expect(t.create([a!], { expires_at: '2020-01-01T00:00:00Z' })).rejects.toMatchObject({ problem: 'validation_failed' });
    expect(await t.fixture.events()).toHaveLength(1);
    expect((await t.list({ all: true })).waits).toEqual([]);
  });

  it('is made once under a key, at whatever process', async () => {
    const [a] = await t.beads(1);
    const body = WaitCreateInputBody.parse({ session: 'mayor', dep_ids: [a], timeout: '1h' });
    const other = t.serviceOn(t.fixture.another());
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) => (i % 2 === 0 ? t.waits : other).create(t.fixture.city, body, 'key-1', ANYBODY)),
    );
    expect(new Set(answers.map((answer) => JSON.stringify(answer.value))).size).toBe(1);
    expect((await t.list()).waits).toHaveLength(1);
  });
});

describe('several dependencies', () => {
  it('must all be closed, whichever is reopened in between', async () => {
    const [a, b] = (await t.beads(2)) as [string, string];
    const { id } = await t.create([a, b]);
    await t.close(a);
    await t.fixture.work.run(t.fixture.city, 'x', (w) => w.reopen(a));
    await t.close(b);
    expect((await t.get(id)).state).toBe('pending');
    await t.close(a);
    expect(await t.told(id)).toEqual(['pending', 'ready']);
  });

  it('of which any will do: the first one counts, the others change nothing', async () => {
    const ids = await t.beads(3);
    const { id } = await t.create(ids, { dep_mode: 'any' });
    await t.close(ids[1]!);
    const { ready_at } = await t.get(id);
    for (const other of [ids[0]!, ids[2]!]) await t.close(other);
    expect(await t.get(id)).toMatchObject({ state: 'ready', ready_at });
  });

  it('that are removed fail it: one of all, all of any', async () => {
    const [a, b, c] = (await t.beads(3)) as [string, string, string];
    const [all, any] = [await t.create([a, b]), await t.create([a, c], { dep_mode: 'any' })];
    await t.remove(a);
    expect(await t.get(all.id)).toMatchObject({ state: 'failed', last_error: `dependency ${a} is missing`, status: 'closed' });
    expect(await t.get(any.id)).toMatchObject({ state: 'pending' });
    await t.remove(c);
    expect(await t.get(any.id)).toMatchObject({ state: 'failed', last_error: `dependency ${c} is missing` });
  });

  it('may be waits themselves', async () => {
    const first = await t.create([], { kind: 'manual' });
    const second = await t.create([first.id]);
    const third = await t.create([second.id]);
    const ready = await t.waits.ready(t.fixture.city, first.id, undefined, ANYBODY);
    expect((await t.get(second.id)).state).toBe('pending');
    await t.waits.accept(t.fixture.city, first.id, { nudge_id: ready.value.nudge_id! }, ANYBODY);
    expect((await t.get(second.id)).state).toBe('ready');
    await t.waits.cancel(t.fixture.city, second.id, {}, ANYBODY);
    expect((await t.get(third.id)).state).toBe('ready');
  });
});

describe('the sweep', () => {
  it('leaves stopped cities and waits with time left alone, and goes on behind a city that fails', async () => {
    const due = await t.create([], { kind: 'manual' });
    const later = await t.create([], { kind: 'manual', timeout: '1h' });
    await t.letDue(due.id);
    await sql`update cities set running = false`.execute(t.fixture.db);
    expect(await t.reconcilerOn(t.fixture.work).sweep()).toBe(0);
    await sql`update cities set running = true`.execute(t.fixture.db);
    await sql`
      with s as (insert into event_streams (name) values ('beta') returning id),
        c as (insert into cities (name, dir, stream_id, running, phase) select 'beta', '/beta', id, true, 'running' from s)
      insert into beads (stream_id, id, title, issue_type, labels, metadata)
      select id, 'be-1', 'w', 'gate', '{gc:wait,session:x}', '{"state":"ready","expires_at":"2019-01-01T00:00:00.000Z"}' from s`.execute(
      t.fixture.db,
    );
    const run: WorkService['run'] = (city, actor, body) =>
      city.name === 'beta' ? Promise.reject(new Error('planted')) : t.fixture.work.run(city, actor, body);
    const failing = { run };
    expect(await t.reconcilerOn(failing as unknown as WorkService).sweep()).toBe(1);
    expect((await t.get(due.id)).state).toBe('expired');
    expect((await t.get(later.id)).state).toBe('pending');
    expect(await t.reconcilerOn(t.fixture.work).sweep()).toBe(1);
    expect(await t.reconcilerOn(t.fixture.work).sweep()).toBe(0);
  });

  // Guard: the city's other writers get in between.
  it('ends waits in several transactions where that takes long', async () => {
    for (let n = 0; n < 3; n++) await t.letDue((await t.create([], { kind: 'manual' })).id);
    const looks = jest.spyOn(t.fixture.work, 'run');
    let now = 0;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => (now += 1_000));
    expect([await t.reconcilerOn(t.fixture.work).sweep(), looks.mock.calls.length]).toEqual([3, 3]);
    clock.mockRestore();
    looks.mockRestore();
  });

  it('goes through more than one batch, along its index', async () => {
    await sql`
      insert into beads (stream_id, id, title, issue_type, labels, metadata)
      select ${t.fixture.city.streamId}, 'b-' || n, 'w', 'gate', '{gc:wait,session:x}',
        jsonb_build_object('state', case when n % 2 = 0 then 'pending' else 'closed' end, 'expires_at', '2019-01-01T00:00:00.000Z')
      from generate_series(1, 900) n`.execute(t.fixture.db);
    expect(await t.reconcilerOn(t.fixture.work).sweep()).toBe(450);
    await sql`insert into beads (stream_id, id, title) select ${t.fixture.city.streamId}, 't-' || n, 't' from generate_series(1, 20000) n`.execute(
      t.fixture.db,
    );
    await sql`analyze beads`.execute(t.fixture.db);
    const { rows } = await sql<{ 'QUERY PLAN': string }>`
      explain select from beads b where b.issue_type = 'gate' and b.labels @> '{gc:wait}' and b.metadata ->> 'state' in ('pending', 'ready')
        and length(b.metadata ->> 'expires_at') = 24 and (b.metadata ->> 'expires_at') collate "C" <= '2030' order by (b.metadata ->> 'expires_at') collate "C" limit 1`.execute(
      t.fixture.db,
    );
    expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toContain('beads_wait_expiry_idx');
  });
});

it('is not disturbed by a bead that only looks like a wait, whatever it says', async () => {
  const noise = Array.from({ length: 12_000 }, () => String.fromCharCode(33 + Math.floor(Math.random() * 90))).join('');
  for (const expires_at of [noise, '', 'soon', '2019'])
    await t.fixture.work.run(t.fixture.city, 'somebody', (work) =>
      work.create({ rig: '', title: 'x', type: 'gate', labels: ['gc:wait'], metadata: { state: 'pending', expires_at } }),
    );
  expect(await t.reconcilerOn(t.fixture.work).sweep()).toBe(0);
});

describe('the list', () => {
  it('is newest first, without finished ones unless they are asked for', async () => {
    const made: string[] = [];
    for (let i = 0; i < 5; i++) made.push((await t.create([], { kind: 'manual', session: i % 2 === 0 ? 'even' : 'odd' })).id);
    await t.waits.cancel(t.fixture.city, made[1]!, {}, ANYBODY);
    await t.waits.ready(t.fixture.city, made[2]!, undefined, ANYBODY);
    const ids = async (query: Partial<WaitsQuery>): Promise<string[]> => (await t.list(query)).waits!.map((wait) => wait.id);
    expect(await ids({})).toEqual([made[4], made[3], made[2], made[0]]);
    expect(await ids({ all: true })).toEqual([...made].reverse());
    expect(await ids({ state: 'pending' })).toEqual([made[4], made[3], made[0]]);
    expect(await ids({ state: 'ready' })).toEqual([made[2]]);
    expect(await ids({ state: 'canceled' })).toEqual([made[1]]);
    expect(await ids({ state: 'nonsense' })).toEqual([]);
    expect(await ids({ session: 'odd' })).toEqual([made[3]]);
    expect(await ids({ session: 'odd', all: true })).toEqual([made[3], made[1]]);
  });

  it('goes on with its cursor, each wait once', async () => {
    for (let i = 0; i < 7; i++) await t.create([], { kind: 'manual' });
    const seen: string[] = [];
    let page = await t.list({ limit: 3 });
    for (;;) {
      seen.push(...page.waits!.map((wait) => wait.id));
      expect(page.capped).toBe(page.next_cursor !== undefined);
      if (page.next_cursor === undefined) break;
      await t.create([], { kind: 'manual' });
      page = await t.list({ limit: 3, cursor: page.next_cursor });
    }
    expect(seen).toEqual(['al-7', 'al-6', 'al-5', 'al-4', 'al-3', 'al-2', 'al-1']);
  });

  it('and a single one say where they were read, and what is no wait', async () => {
    const [bead] = await t.beads(1);
    const { id } = await t.create([bead!]);
    expect((await t.reads.get(t.fixture.city, id)).index).toBe(2);
    expect((await t.reads.list(t.fixture.city, { all: false, limit: 0 })).index).toBe(2);
    await expect(t.get('al-99')).rejects.toMatchObject({ detail: 'not_found: al-99' });
    await expect(t.get(bead!)).rejects.toMatchObject({ detail: `not_found: ${bead} is not a wait` });
    await expect(t.waits.cancel(t.fixture.city, bead!, {}, ANYBODY)).rejects.toMatchObject({ problem: 'wait_not_found' });
  });
});
