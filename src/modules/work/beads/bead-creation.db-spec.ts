import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { ANYBODY, type SessionCaller } from '../../../contract/principal.js';
import { createPool, type PgPool } from '../../../platform/database/database.js';
import { MovedStreams, type Moved } from '../../../platform/event-log/moved.js';
import { Failpoints } from '../../../platform/failpoints/failpoints.js';
import { Metrics } from '../../../platform/health/metrics.js';
import { eventually } from '../../../../test/support/sse.js';
import { workFixture, type WorkFixture } from '../../../../test/support/work.js';
import type { NewBead } from '../work/bead-record.js';
import { Idempotency } from '../../../platform/idempotency/idempotency.js';
import { IdempotencyRepository } from '../../../platform/idempotency/idempotency.repository.js';
import { CitiesRepository } from '../../tenancy/cities/cities.repository.js';
import { CitiesService } from '../../tenancy/cities/cities.service.js';
import { RosterRepository } from '../../configuration/roster/roster.repository.js';
import { RosterService } from '../../configuration/roster/roster.service.js';
import { BeadCreationService } from './bead-creation.service.js';
import { BeadCreateInputBody } from './beads.schemas.js';
import { CreateCommitter } from './create-committer.js';
import { CreateRepository } from './create.repository.js';

let fixture: WorkFixture;
let pools: PgPool[];
beforeEach(async () => {
  fixture = await workFixture();
  pools = [];
});
afterEach(async () => {
  for (const pool of pools) await pool.end();
  await fixture.close();
});

interface Process {
  readonly failpoints: Failpoints;
  readonly moved: Moved[];
  readonly flushes: () => number;
  create(body: object, key?: string, city?: string, session?: SessionCaller): Promise<{ id: string; index: number; json: string }>;
}

/** One process's path of creation, with a pool of its own. */
function aProcess(): Process {
  const pool = createPool(String(fixture.pool.options.connectionString));
  pools.push(pool);
  const repository = new CreateRepository(pool);
  const create = repository.create.bind(repository);
  let flushes = 0;
  repository.create = (items, wait, records) => {
    flushes++;
    return create(items, wait, records);
  };
  const [failpoints, streams, moved] = [new Failpoints(), new MovedStreams(), [] as Moved[]];
  streams.listen((m) => moved.push(...m));
  const service = new BeadCreationService(
    new CreateCommitter(repository, streams, failpoints, new Metrics()),
    new CitiesService(new CitiesRepository(pool), fixture.transactions, fixture.eventLog, fixture.db),
    new RosterService(new RosterRepository(fixture.db)),
    fixture.work,
    new Idempotency(new IdempotencyRepository()),
  );
  return {
    failpoints,
    moved,
    flushes: () => flushes,
    create: (body, key, city = 'alpha', session) =>
      service.create(city, BeadCreateInputBody.parse(body), key, { ...ANYBODY, actor: 'tester', session }),
  };
}

const rows = (): Promise<{ rows: Record<string, unknown>[] }> =>
  sql<Record<string, unknown>>`select * from beads order by created_at`.execute(fixture.db);
const envelopes = (): Promise<{ rows: Record<string, unknown>[] }> =>
  sql<Record<string, unknown>>`select * from events order by seq`.execute(fixture.db);

/** The same without what no two beads share. */
function common(value: unknown, id: string): unknown {
  const text = JSON.stringify(value).replaceAll(`"${id}"`, '"ID"');
  return JSON.parse(text, (name, member: unknown) => (['created_at', 'ts', 'seq', 'id', 'size'].includes(name) ? null : member)) as unknown;
}

describe('creating beads', () => {
  const everything: NewBead & { type: string } = {
    rig: 'web',
    title: 'all of it',
    type: 'bug',
    priority: 0,
    assignee: 'web/polecat',
    description: 'long "text"\n\ttab é 🎈',
    labels: ['b', 'a', 'b'],
    parent: 'al-1',
    metadata: { 'gc.session_id': 's1', 'gc.step_id': 'st', molecule_id: 'm1', workflow_id: '', 'gc.routed_to': 'pool' },
    deferUntil: new Date('2031-01-02T03:04:05.678Z'),
  };

  it.each<[string, NewBead & { type?: string }]>([
    ['everything', everything],
    ['a title only', { rig: '', title: 'bare' }],
    ['empty texts', { rig: '', title: 'x', description: '', metadata: { a: '' }, labels: [] }],
    ['a run of its own', { rig: 'core', title: 'x', metadata: { 'gc.root_bead_id': 'r', workflow_id: 'w', molecule_id: 'm' } }],
  ])('writes the row and the event that the general path writes: %s', async (_what, bead) => {
    await fixture.work.run(fixture.city, 'tester', (work) => work.create({ rig: '', title: 'parent' }));
    const { value } = await fixture.work.run(fixture.city, 'tester', (work) => work.create(bead));
    const { deferUntil, rig, ...rest } = bead;
    const body = {
      ...rest,
      ...(rig === '' ? {} : { rig }),
      ...(deferUntil === undefined ? {} : { defer_until: deferUntil.toISOString() }),
    };
    const { id, json } = await aProcess().create(body);
    const [, general, fast] = (await rows()).rows;
    expect(common(fast, id)).toEqual(common(general, value.id));
    const [, said, alsoSaid] = (await envelopes()).rows;
    expect(common(alsoSaid, id)).toEqual(common(said, value.id));
    expect(alsoSaid).toMatchObject({ type: 'bead.created', subject: id, payload: { bead: JSON.parse(json) as object } });
    const { rows: found } = await sql<{ json: object }>`select bead_json(b) as json from beads b where id = ${id}`.execute(fixture.db);
    expect(JSON.parse(json)).toEqual(found[0]!.json);
  });

  it('assigns to the agent that is addressed, within the rig of the bead', async () => {
    const { create } = aProcess();
    const assignee = async (body: object): Promise<unknown> =>
      (JSON.parse((await create({ title: 'x', ...body })).json) as { assignee: string }).assignee;
    expect(await assignee({ assignee: 'witness' })).toBe('web/witness');
    expect(await assignee({ assignee: 'polecat', rig: 'core' })).toBe('core/polecat');
    expect(await assignee({ assignee: ' polecat ' })).toBe('polecat');
    expect(await assignee({ assignee: 'somebody else' })).toBe('somebody else');
  });

  it('gives concurrent creates of two processes dense ids and positions in few transactions', async () => {
    const [a, b] = [aProcess(), aProcess()];
    const done = await Promise.all(
      Array.from({ length: 300 }, (_, i) => (i % 2 ? a : b).create({ title: `t${i}`, rig: i % 3 ? undefined : 'web' })),
    );
    const events = await fixture.events();
    expect(events.map((e) => e.seq)).toEqual(Array.from({ length: 300 }, (_, i) => i + 1));
    done.forEach(({ id, index }, i) => expect(events[index - 1]).toMatchObject({ subject: id, payload: { bead: { id, title: `t${i}` } } }));
    const numbers = (prefix: string): number[] =>
      done.flatMap(({ id }) => (id.startsWith(prefix) ? [Number(id.split('-')[1])] : [])).sort((x, y) => x - y);
    expect(numbers('al-')).toEqual(Array.from({ length: 200 }, (_, i) => i + 1));
    expect(numbers('web-')).toEqual(Array.from({ length: 100 }, (_, i) => i + 1));
    expect(a.flushes() + b.flushes()).toBeLessThanOrEqual(10);
    expect(Math.max(...[...a.moved, ...b.moved].map((m) => m.head))).toBe(300);
    expect((await fixture.work.run(fixture.city, 'tester', (work) => work.create({ rig: '', title: 'next' }))).value.id).toBe('al-201');
  });

  it('refuses one item of a batch and creates the others', async () => {
    const { create, flushes } = aProcess();
    const settled = await Promise.allSettled([
      create({ title: 'good' }),
      create({ title: 'x', rig: 'nowhere' }),
      create({ title: 'x', parent: 'al-99' }),
      create({ title: 'also good', rig: 'web' }),
    ]);
    expect(settled).toMatchObject([
      { value: { id: 'al-1', index: 1 } },
      { reason: { detail: 'not_found: rig nowhere not found' } },
      { reason: { detail: 'not_found: bead al-99 not found' } },
      { value: { id: 'web-1', index: 2 } },
    ]);
    expect(flushes()).toBe(1);
    expect((await fixture.events()).map((e) => e.subject)).toEqual(['al-1', 'web-1']);
  });

  it('creates nothing in a city that does not run', async () => {
    await sql`update cities set running = false`.execute(fixture.db);
    await expect(aProcess().create({ title: 'x' })).rejects.toMatchObject({ problem: 'city_not_found' });
    expect((await rows()).rows).toEqual([]);
  });
});

describe('an Idempotency-Key', () => {
  it('has one effect, in one batch and in several', async () => {
    const { create } = aProcess();
    const together = await Promise.allSettled([create({ title: 'x' }, 'k'), create({ title: 'x' }, 'k'), create({ title: 'y' }, 'k')]);
    expect(together).toMatchObject([
      { value: { id: 'al-1', index: 1 } },
      { value: { id: 'al-1', index: 1 } },
      { reason: { problem: 'idempotency_mismatch' } },
    ]);
    await create({ title: 'another' });
    const [again] = await Promise.all([aProcess().create({ title: 'x' }, 'k')]);
    expect(again).toMatchObject({ id: 'al-1', index: 2 });
    expect(await fixture.events()).toHaveLength(2);
  });

  it('is free again after a refusal, also for its neighbour in the batch', async () => {
    const { create } = aProcess();
    const settled = await Promise.allSettled([create({ title: 'x', rig: 'nowhere' }, 'k'), create({ title: 'x' }, 'k')]);
    expect(settled).toMatchObject([{ reason: { problem: 'rig_not_found' } }, { value: { id: 'al-1' } }]);
  });

  // Guard: the city's work lock, behind which a key is looked up. Without it the second of two sees no answer yet.
  it.each([
    ['with', 'perform pg_advisory_xact_lock(2, p_stream);', 'fulfilled'],
    ['without', '', 'rejected'],
  ])('used at two processes at once, %s the lock', async (_how, lock, second) => {
    await sql`create or replace function begin_work(p_stream integer) returns boolean language plpgsql as $$
      begin ${sql.raw(lock)} return exists (select from cities c where c.stream_id = p_stream and c.running); end $$`.execute(fixture.db);
    const holder = await fixture.pool.connect();
    try {
      // Whoever comes first stops where it would append its event.
      await holder.query('select pg_advisory_lock(1, $1::integer)', [fixture.city.streamId]);
      const waiting = async (n: number): Promise<boolean> =>
        (await holder.query("select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")).rowCount ===
        n;
      const first = aProcess().create({ title: 'x' }, 'k');
      await eventually(() => waiting(1));
      const repeat = aProcess().create({ title: 'x' }, 'k');
      await eventually(() => waiting(2));
      await holder.query('select pg_advisory_unlock_all()');
      const settled = await Promise.allSettled([first, repeat]);
      // Who has waited too long beside others comes again: it may be the second then, or find what the other has made.
      const [one, other] = settled.map(({ status }) => status).sort();
      expect([one, ['fulfilled', second].includes(other!)]).toEqual(['fulfilled', true]);
      if (other === 'fulfilled') expect(settled).toMatchObject([{ value: { id: 'al-1' } }, { value: { id: 'al-1' } }]);
      expect((await rows()).rows).toHaveLength(1);
    } finally {
      holder.release();
    }
  });

  it('keeps what was created when the answer is lost', async () => {
    const { create, failpoints } = aProcess();
    failpoints.arm('bead.after_flush', () => {
      throw Object.assign(new Error('planted'), { code: 'ECONNRESET' });
    });
    await expect(create({ title: 'x' }, 'k')).rejects.toMatchObject({ detail: expect.stringMatching(/^unavailable: .*Idempotency-Key/) });
    expect(await aProcess().create({ title: 'x' }, 'k')).toMatchObject({ id: 'al-1' });
    expect(await fixture.events()).toHaveLength(1);
  });

  // Guard: what a wait tells comes from the service, so no session makes one for another.
  it('makes no wait for a session, which would tell another one whatever it likes, no hold of a drain, and no stamp of another', async () => {
    const { create } = aProcess();
    const session = { id: 'al-900', pk: 1, city: 'alpha', streamId: fixture.city.streamId, agentName: 'mayor', names: ['mayor'] };
    const wait = { title: 'x', type: 'gate', labels: ['a', 'gc:wait'], metadata: { state: 'ready', session_id: 'deacon' } };
    const { id } = await create({ ...wait, labels: ['a'] }, undefined, 'alpha', session);
    for (const needs of [[], [id]])
      await expect(create({ ...wait, needs }, undefined, 'alpha', session)).rejects.toMatchObject({ problem: 'forbidden' });
    await expect(create({ title: 'x', labels: ['hold:drain:al-1'] }, undefined, 'alpha', session)).rejects.toMatchObject({
      detail: 'forbidden: only a drain holds beads for itself: sessions set no hold:drain:al-1',
    });
    await expect(create({ title: 'x', metadata: { 'gc.session_id': 'al-901' } }, undefined, 'alpha', session)).rejects.toMatchObject({
      detail: 'forbidden: metadata gc.session_id has to name al-900: sessions say of no other that it is at work',
    });
    expect((await rows()).rows).toHaveLength(1);
    await create(wait);
  });

  describe('that need others', () => {
    it('is one transaction and one event, and waits from the first moment', async () => {
      const { create } = aProcess();
      const [a, b] = [await create({ title: 'a' }), await create({ title: 'b' })];
      const at = (await fixture.events()).length;
      const body = { title: 'c', needs: [a.id, `related:${b.id}`], assignee: 'witness', rig: 'web', defer_until: '2030-01-01T00:00:00Z' };
      const made = await create(body, 'key-1');
      expect(JSON.parse(made.json)).toMatchObject({
        id: 'web-1',
        assignee: 'web/witness',
        is_blocked: true,
        needs: [a.id],
        dependencies: [
          { issue_id: 'web-1', depends_on_id: a.id, type: 'blocks' },
          { issue_id: 'web-1', depends_on_id: b.id, type: 'related' },
        ],
      });
      expect(await create(body, 'key-1')).toMatchObject({ id: 'web-1' });
      await expect(create({ ...body, title: 'd' }, 'key-1')).rejects.toMatchObject({ problem: 'idempotency_mismatch' });
      expect((await fixture.events(at)).map((e) => [e.type, e.payload.bead])).toEqual([['bead.created', JSON.parse(made.json)]]);
    });

    it('is refused whole when one is missing', async () => {
      const { create } = aProcess();
      await expect(create({ title: 'c', needs: ['al-99'] })).rejects.toMatchObject({ detail: 'not_found: bead al-99 not found' });
      await expect(create({ title: 'c', needs: [(await create({ title: 'a' })).id], parent: 'al-99' })).rejects.toMatchObject({
        problem: 'bead_not_found',
      });
      expect((await fixture.events()).map((e) => e.subject)).toEqual(['al-1']);
    });

    it.each([
      [{ rig: 'gone' }, 'rig gone not found'],
      [{ parent: 'al-99' }, 'bead al-99 not found'],
      [{ rig: 'gone', parent: 'al-99' }, 'rig gone not found'],
      // The id that it will have itself is nobody's yet.
      [{ parent: 'al-2' }, 'bead al-2 not found'],
    ])('is refused as one that needs nothing: %j', async (body, detail) => {
      const { create } = aProcess();
      await create({ title: 'needed' });
      for (const needs of [[], ['al-1']])
        await expect(create({ title: 'c', ...body, needs })).rejects.toMatchObject({ detail: `not_found: ${detail}` });
      expect((await fixture.events()).length).toBe(1);
    });

    // Guard: what is said to block a bead is not taken back by what else is said of it.
    it('names each of them with one type', async () => {
      const { create } = aProcess();
      const { id } = await create({ title: 'a' });
      for (const needs of [
        [id, `related:${id}`],
        [`waits-for:${id}`, `blocks:${id}`],
      ])
        await expect(create({ title: 'c', needs })).rejects.toMatchObject({
          problem: 'validation_failed',
          errors: [{ location: 'body.needs', value: id }],
        });
      expect(JSON.parse((await create({ title: 'c', needs: [id, `blocks:${id}`] })).json)).toMatchObject({ needs: [id] });
    });

    it.each(['tracks:al-1', 'a b', ':al-1', 'blocks:'])('takes no %j', (need) => {
      expect(BeadCreateInputBody.safeParse({ title: 'c', needs: [need] }).success).toBe(false);
    });
  });
});
