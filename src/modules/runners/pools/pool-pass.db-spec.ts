import { afterEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { eventually } from '../../../../test/support/sse.js';
import type { Tx } from '../../../platform/database/transactions.js';
import { agentConfig, poolFixture, type PoolFixture } from './testing/pool-fixture.js';
import { PoolStateRepository } from './pool-state.repository.js';

let fixture: PoolFixture;
const open = async (given: Parameters<typeof poolFixture>[0] = {}): Promise<PoolFixture> => (fixture = await poolFixture(given));
afterEach(() => fixture.stop());

const claim = (session: { id: string; agent_name: string | null }): Promise<unknown> =>
  fixture.claimsSql.claim(
    'alpha',
    [JSON.stringify({ agent: session.agent_name, names: [session.id], lease_ms: 600_000, stamps: { 'gc.session_id': session.id } })],
    '[]',
  );

/** A session that was made for a bead. */
const made = async (): Promise<{ bead: string; session: Awaited<ReturnType<PoolFixture['open']>>[number] }> => {
  await open();
  const bead = await fixture.bead();
  await fixture.pass();
  const [session] = await fixture.open();
  return { bead, session: session! };
};

describe('demand', () => {
  it('starts one session for a bead, however many workers look at once', async () => {
    await open();
    const bead = await fixture.bead();
    await Promise.all(Array.from({ length: 8 }, (_, i) => fixture.pass(i % 2 === 0 ? fixture.one : fixture.two)));
    const sessions = await fixture.open();
    expect(sessions).toHaveLength(1);
    expect(sessions[0]).toMatchObject({
      state: 'start-pending',
      origin: 'pool',
      agent_name: 'worker-1',
      alias: 'worker-1',
      slot: 1,
      wake_request: 'work',
      metadata: { trigger_bead: bead },
    });
    expect((await fixture.events()).map((e) => e.type)).toContain('session.created');
    expect(await fixture.settle()).toEqual([]);
  });

  it('never passes a limit, with two workers and beads that keep coming', async () => {
    await open();
    fixture.config.agents[0] = agentConfig('worker', { max_active_sessions: 3 });
    for (let n = 0; n < 6; n++) {
      await fixture.bead();
      await Promise.all([fixture.pass(fixture.one), fixture.pass(fixture.two)]);
      expect((await fixture.open()).length).toBeLessThanOrEqual(3);
    }
    expect((await fixture.open()).map(({ slot }) => slot)).toEqual([1, 2, 3]);
  });

  /** One pass is about to commit a session of `worker` when another one finds a bead for `boss`; the city may have one session. */
  const twoAtOnce = async (locked: boolean): Promise<number> => {
    let held: Promise<void> | undefined;
    const reached = Promise.withResolvers<void>();
    class Held extends PoolStateRepository {
      override tryLock(tx: Tx, streamId: number): Promise<boolean> {
        return locked ? super.tryLock(tx, streamId) : Promise.resolve(true);
      }
      override async passed(...args: Parameters<PoolStateRepository['passed']>): Promise<void> {
        const wait = held;
        held = undefined;
        reached.resolve();
        await wait;
        return super.passed(...args);
      }
    }
    await open({ repository: Held });
    Object.assign(fixture.config.workspace, { max_active_sessions: 1 });
    fixture.config.agents.unshift(agentConfig('boss'));
    const go = Promise.withResolvers<void>();
    held = go.promise;
    await fixture.bead();
    const other = await fixture.bead({ 'gc.routed_to': 'boss' });
    await sql`update beads set labels = '{hold:later}' where id = ${other}`.execute(fixture.db);
    const first = fixture.pass(fixture.one);
    await reached.promise;
    await sql`update beads set labels = '{}' where id = ${other}`.execute(fixture.db);
    let ended = false;
    const second = fixture.pass(fixture.two).finally(() => (ended = true));
    // With the lock it is over at once; without it has read, and waits for the first one's ids.
    const waiting = sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await eventually(async () => ended || (await waiting.execute(fixture.db)).rows.length > 0);
    go.resolve();
    await Promise.all([first, second]);
    return (await fixture.open()).length;
  };
  it('keeps the limit of a city when two look at once', async () => expect(await twoAtOnce(true)).toBe(1));
  it('would not without the lock', async () => expect(await twoAtOnce(false)).toBe(2));

  it('tells an idle member of new work, which claims it and is told nothing more', async () => {
    const { session } = await made();
    await fixture.ready(session.pk);
    const decided = await fixture.pass();
    expect(decided).toMatchObject([{ do: 'nudge', pk: session.pk }]);
    expect(await fixture.statuses(session.pk)).toEqual(['queued']);
    expect(await fixture.pass()).toEqual([]);
    await sql`update session_messages set status = 'delivered', ended_at = now()`.execute(fixture.db);
    await claim(session);
    expect(await fixture.settle()).toEqual([]);
  });

  it('wakes the session that holds work, tells it, and gives it more time after each time that came to nothing', async () => {
    const { bead, session } = await made();
    await claim(session);
    await fixture.ready(session.pk);
    const fall = (): Promise<void> =>
      fixture.within(session.pk, async (changes, row) => {
        await changes.move(row, 'sleep', { reason: 'exited', set: { runner_id: null, live: false } });
      });
    await sql`update sessions set ready_at = clock_timestamp()`.execute(fixture.db);
    await fall();
    expect(await fixture.pass()).toEqual([{ do: 'wake', pk: session.pk, why: 'work', beads: [bead] }]);
    expect(await fixture.row(session.pk)).toMatchObject({ wake_request: 'work', churns: 1 });
    await sql`update session_messages set status = 'delivered', ended_at = now()`.execute(fixture.db);
    await fixture.ready(session.pk);
    await fall();
    expect(await fixture.pass()).toEqual([]);
    await sql`update sessions set state_at = now() - interval '31 seconds'`.execute(fixture.db);
    expect(await fixture.pass()).toMatchObject([{ do: 'wake', why: 'work' }]);
  });

  // Guard: of two workers every other patrol would be one in which nobody begins what is asked for.
  it('of a scale_check is met by the worker that has heard it, where another one cannot ask', async () => {
    await open({ scale: [new Map([['worker', undefined]]), new Map([['worker', 2]])] });
    fixture.config.agents[0] = agentConfig('worker', { scale_check: 'count' });
    const nextIs = (seconds: number): Promise<unknown> =>
      sql`update city_pools set passed_at = now() - interval '1 hour', next_at = clock_timestamp() + ${seconds}::float8 * interval '1 second', head = (select head from event_streams where id = stream_id)`.execute(
        fixture.db,
      );
    const due = async (): Promise<unknown> =>
      (await sql<{ due: boolean }>`select next_at <= clock_timestamp() as due from city_pools`.execute(fixture.db)).rows[0]!.due;
    expect(await fixture.pass(fixture.one)).toEqual([]);
    await nextIs(-1);
    expect([await fixture.pass(fixture.one), await due()]).toEqual([[], true]);
    fixture.two.pass.betweenMs = 60_000;
    expect(await fixture.pass(fixture.two)).toMatchObject([{ do: 'create' }, { do: 'create' }]);
    // What has happened meanwhile it looks at, and leaves the time as it was.
    await nextIs(-1);
    for (let n = 0; n < 3; n++) await fixture.bead();
    expect(await fixture.pass(fixture.one)).toMatchObject([{ do: 'create' }]);
    expect(await due()).toBe(true);
    // Alone it goes on, a little later.
    await nextIs(-11);
    expect(await fixture.pass(fixture.one)).toEqual([]);
    expect(await due()).toBe(false);
  });

  it('is met although other agents, asked for first, cannot be started at all', async () => {
    await open();
    fixture.config.agents.unshift(agentConfig('boss', { provider: 'nowhere' }));
    for (let n = 0; n < 6; n++) await fixture.bead({ 'gc.routed_to': 'boss' });
    await fixture.bead();
    await fixture.settle();
    expect(await fixture.open()).toMatchObject([{ agent_name: 'worker-1' }]);
  });

  it('makes named sessions once, on two workers', async () => {
    await open();
    fixture.config.agents.push(agentConfig('boss'));
    fixture.config.named_sessions.push({ qualified_name: 'chief', name: 'chief', template: 'boss', dir: '', mode: 'always' });
    await sql`insert into agents (stream_id, name, base, rig, kind) values (${fixture.city.streamId}, 'chief', 'chief', '', 'named_session')`.execute(
      fixture.db,
    );
    await Promise.all([fixture.pass(fixture.one), fixture.pass(fixture.two)]);
    await fixture.settle();
    expect(await fixture.open()).toMatchObject([{ origin: 'named', named_identity: 'chief', wake_request: 'named' }]);
  });
});

describe('members of a pool that have nothing left', () => {
  it('are drained and closed; the next bead gets a new one at once when they had work, later when they had none', async () => {
    const { bead, session } = await made();
    await claim(session);
    await fixture.work.run(fixture.city, 'worker-1', (work) => work.close(bead));
    await fixture.ready(session.pk, 60_000);
    expect(await fixture.pass()).toMatchObject([{ do: 'drain', reason: 'no-wake-reason' }]);
    await fixture.obey();
    expect(await fixture.settle()).toEqual([{ do: 'close', pk: session.pk, code: 'drained' }]);
    await fixture.bead();
    expect(await fixture.pass()).toMatchObject([{ do: 'create' }]);
  });

  it('leave their name to who comes in the same look', async () => {
    const { bead, session } = await made();
    await claim(session);
    await fixture.work.run(fixture.city, 'worker-1', (work) => work.close(bead));
    await fixture.ready(session.pk, 60_000);
    expect(await fixture.pass()).toMatchObject([{ do: 'drain' }]);
    await fixture.obey();
    await fixture.bead();
    expect(await fixture.pass()).toMatchObject([
      { do: 'close', pk: session.pk },
      { do: 'create', name: 'worker-1' },
    ]);
    expect(await fixture.open()).toMatchObject([{ agent_name: 'worker-1', state: 'start-pending' }]);
  });

  it('that took nothing of what was offered have no successor for a while', async () => {
    const { session } = await made();
    await fixture.ready(session.pk, 60_000);
    await sql`insert into session_messages (stream_id, session_pk, id, intent, body, source, reference, sender, status, ended_at)
      select stream_id, ${session.pk}, 'm-1', 'follow_up', 'x', 'nudge', (select id from beads limit 1), 'reconciler', 'delivered', now() from sessions`.execute(
      fixture.db,
    );
    expect(await fixture.pass()).toMatchObject([{ do: 'drain', empty: ['pool'] }]);
    await fixture.obey();
    expect(await fixture.settle()).toMatchObject([{ do: 'close' }]);
    expect(await fixture.settle()).toEqual([]);
    await sql`update sessions set closed_at = closed_at - interval '2 minutes'`.execute(fixture.db);
    expect(await fixture.pass()).toMatchObject([{ do: 'create' }]);
  });

  it.each([
    ['for work of their own', 'member', {}, 'exited'],
    ['for a minimum', 'minimum', { min_active_sessions: 1 }, 'exited'],
    ['for a minimum, also drained by themselves', 'minimum', { min_active_sessions: 1 }, 'drained'],
  ] as const)('and end by themselves have no successor for a while, %s', async (_, why, more, reason) => {
    await open();
    fixture.config.agents = [agentConfig('worker', more)];
    if (why === 'member') await fixture.bead({ 'gc.routed_to': 'worker-1' });
    await fixture.pass();
    const [session] = await fixture.open();
    await fixture.ready(session!.pk);
    const metadata: Record<string, string> = reason === 'drained' ? { drained_itself: new Date().toISOString() } : {};
    const gone = { runner_id: null, live: false, ready_at: new Date(), metadata };
    await fixture.within(session!.pk, (changes, row) => changes.move(row, 'sleep', { reason, set: gone }));
    expect(await fixture.settle()).toEqual([{ do: 'close', pk: session!.pk, code: 'drained', empty: [why] }]);
    expect((await fixture.row(session!.pk)).metadata).toMatchObject({ empty_run: expect.any(String), empty_for: why, empty_end: reason });
    await sql`update sessions set closed_at = closed_at - interval '2 minutes'`.execute(fixture.db);
    expect(await fixture.pass()).toMatchObject([{ do: 'create', name: 'worker-1' }]);
  });

  // Guard: the next drain would start them again, and keep their work.
  it('stay as if nobody had asked for their start, where a message comes before they have ended', async () => {
    const { session } = await made();
    await sql`update beads set status = 'closed', closed_at = now()`.execute(fixture.db);
    await fixture.ready(session.pk, 60_000);
    expect(await fixture.pass()).toMatchObject([{ do: 'drain' }]);
    await sql`insert into session_messages (stream_id, session_pk, id, intent, body, source, sender, status)
      select stream_id, ${session.pk}, 'm-1', 'follow_up', 'x', 'submit', 'tester', 'queued' from sessions`.execute(fixture.db);
    await sql`update sessions set wake_request = 'message', wake_requested_at = now() where pk = ${session.pk}`.execute(fixture.db);
    expect(await fixture.settle()).toMatchObject([{ do: 'undrain' }]);
    expect((await fixture.open())[0]).toMatchObject({ state: 'active', stop_request: null, wake_request: null, wake_requested_at: null });
  });

  it('are not drained when work comes between the plan and its execution', async () => {
    await open();
    const { row } = await (async () => {
      await fixture.bead();
      await fixture.pass();
      const [session] = await fixture.open();
      await sql`update beads set status = 'closed', closed_at = now()`.execute(fixture.db);
      await fixture.ready(session!.pk, 60_000);
      return { row: session! };
    })();
    const own = fixture.one.repository.guard.bind(fixture.one.repository);
    fixture.one.repository.guard = async (tx, pk) => ({ ...(await own(tx, pk)), messages: 1 });
    expect(await fixture.pass()).toEqual([]);
    fixture.one.repository.guard = own;
    expect(await fixture.pass()).toMatchObject([{ do: 'drain', pk: row.pk }]);
  });
});

describe('a city that is due', () => {
  // Guard: the position of the new revision would count as looked at, and nothing but it tells of the agents that it adds.
  it('is looked at again at once where its files came to say something else in between', async () => {
    let isBehind = true;
    await open({ revision: (tx) => (tx === undefined && isBehind ? 1 : 2) });
    await fixture.bead();
    const city = (await fixture.one.repository.city(fixture.city.streamId))!;
    expect(await fixture.one.pass.run(city)).toEqual({ decisions: [], againMs: 0 });
    expect((await fixture.one.repository.due(10, ['alpha'])).length).toBe(1);
    isBehind = false;
    expect((await fixture.settle()).map((decision) => decision.do)).toContain('create');
    expect(await fixture.one.repository.due(10, ['alpha'])).toEqual([]);
  });

  // Guard: a command's news, of which no event tells, would wait for the next patrol.
  it.each([-60_000, 60_000])('is looked at again where it is asked for during a look, due since or in %d ms', async (ms) => {
    let isAsked = false;
    class Asked extends PoolStateRepository {
      override async passed(...args: Parameters<PoolStateRepository['passed']>): Promise<void> {
        if (isAsked) await fixture.two.repository.lookAgain(fixture.city.streamId, 0);
        return super.passed(...args);
      }
    }
    await open({ repository: Asked });
    await fixture.settle();
    const due = async (): Promise<number> => (await fixture.one.repository.due(10, ['alpha'])).length;
    const next = sql`update city_pools set next_at = now() + ${ms}::int * interval '1 millisecond'`;
    await next.execute(fixture.db);
    await fixture.pass();
    expect(await due()).toBe(0);
    await next.execute(fixture.db);
    isAsked = true;
    await fixture.pass();
    expect(await due()).toBe(1);
  });

  it('is asked about without a hint only when a time has come, or by who has its sessions', async () => {
    await open();
    const due = async (): Promise<number[]> => {
      const { repository } = fixture.one;
      const own = ['p1', 'another'].map((processId) => repository.due(10, { processId }));
      return Promise.all([repository.due(10), ...own, repository.due(10, ['alpha'])]).then((all) => all.map((c) => c.length));
    };
    await sql`update city_pools set next_at = null`.execute(fixture.db);
    await sql`update event_streams set head = head + 1 where name = 'alpha'`.execute(fixture.db);
    expect(await due()).toEqual([1, 0, 0, 1]);
    await sql`insert into city_pools (stream_id, passed_at, head, next_at) select id, now(), head, now() from event_streams where name = 'alpha'
      on conflict (stream_id) do update set next_at = now()`.execute(fixture.db);
    expect(await due()).toEqual([1, 1, 1, 1]);
    await sql`update city_pools p set next_at = null, passed_at = now(), head = e.head from event_streams e where e.id = p.stream_id`.execute(
      fixture.db,
    );
    const session = await fixture.session('active');
    await sql`update city_pools set passed_at = '-infinity', head = (select head from event_streams e where e.id = stream_id)`.execute(
      fixture.db,
    );
    await sql`update session_logs set activity_at = now() where session_pk = ${session.pk}`.execute(fixture.db);
    expect(await due()).toEqual([1, 1, 0, 1]);
  });
});

describe('a city that does not run', () => {
  it('stops its sessions, and wakes them again when it starts', async () => {
    await open();
    const session = await fixture.session('active');
    await sql`update cities set desired = 'stopped'`.execute(fixture.db);
    expect(await fixture.pass()).toEqual([{ do: 'sleep', pk: session.pk, reason: 'city-stop' }]);
    expect(await fixture.one.repository.due(10)).toEqual([]);
    await fixture.obey();
    await sql`update cities set running = false`.execute(fixture.db);
    expect(await fixture.pass()).toEqual([]);
    await sql`update cities set running = true, desired = 'running'`.execute(fixture.db);
    await sql`update sessions set agent = 'worker', template = 'worker'`.execute(fixture.db);
    expect(await fixture.pass()).toEqual([{ do: 'wake', pk: session.pk, why: 'restart' }]);
  });

  it('ends them all once it is registered no longer', async () => {
    await open();
    const live = await fixture.session('active');
    const asleep = await fixture.session('asleep');
    await sql`delete from cities`.execute(fixture.db);
    const [city] = await fixture.one.repository.due(10);
    expect(city).toMatchObject({ is: 'gone', name: 'alpha' });
    await fixture.pass();
    expect(await fixture.row(asleep.pk)).toMatchObject({ state: 'closed', close_code: 'city-gone' });
    expect(await fixture.row(live.pk)).toMatchObject({ stop_request: 'close', stop_reason: 'city-gone' });
    expect(await fixture.one.repository.due(10)).toEqual([]);
  });
});

describe('what sessions hold', () => {
  it('is given back when they end, with an event', async () => {
    const { bead, session } = await made();
    await claim(session);
    await sql`update sessions set state = 'asleep', wake_request = null`.execute(fixture.db);
    fixture.config.agents.length = 0;
    await fixture.pass();
    expect(await fixture.row(session.pk)).toMatchObject({ state: 'closed', close_code: 'orphaned' });
    const { rows } = await sql<{ status: string; assignee: string | null }>`select status, assignee from beads where id = ${bead}`.execute(
      fixture.db,
    );
    expect(rows).toEqual([{ status: 'open', assignee: null }]);
    expect((await fixture.events()).filter((e) => e.type === 'bead.dead_assignee_reopened')).toMatchObject([{ subject: bead }]);
  });

  it('is given back in several looks where many end at once', async () => {
    const { bead, session } = await made();
    const pks = [session.pk];
    for (let n = 0; n < 2; n++) pks.push((await fixture.session('asleep')).pk);
    await sql`update sessions set state = 'asleep', wake_request = null, origin = 'pool', agent = 'worker', template = 'worker'`.execute(
      fixture.db,
    );
    await sql`insert into beads (stream_id, id, title, assignee, status, metadata)
      select b.stream_id, s.id || '-' || g, 'many', s.id, 'in_progress', jsonb_build_object('gc.session_id', s.id)
      from beads b, sessions s, generate_series(1, 120) g where b.id = ${bead}`.execute(fixture.db);
    fixture.config.agents.length = 0;
    const closed = async () => {
      await fixture.pass();
      const rows = await Promise.all(pks.map((pk) => fixture.row(pk)));
      return rows.filter((row) => row!.state === 'closed').length;
    };
    expect([await closed(), await closed()]).toEqual([2, 3]);
    const { rows } = await sql`select 1 from beads where assignee is not null`.execute(fixture.db);
    expect(rows).toEqual([]);
  });

  it('is given back also where it is only assigned to them', async () => {
    const { bead, session } = await made();
    await sql`update beads set assignee = ${session.id} where id = ${bead}`.execute(fixture.db);
    await sql`update sessions set state = 'asleep', wake_request = null`.execute(fixture.db);
    fixture.config.agents.length = 0;
    await fixture.pass();
    expect(await fixture.row(session.pk)).toMatchObject({ state: 'closed' });
    const { rows } = await sql`select status, assignee from beads where id = ${bead}`.execute(fixture.db);
    expect(rows).toEqual([{ status: 'open', assignee: null }]);
  });

  it('is given back also when who ended them could not', async () => {
    const { bead, session } = await made();
    await claim(session);
    await fixture.close(session.pk);
    await fixture.pass();
    const { rows } = await sql<{ status: string }>`select status from beads where id = ${bead}`.execute(fixture.db);
    expect(rows).toEqual([{ status: 'open' }]);
  });

  it('is given back later where others have the work of the city for long', async () => {
    const { bead, session } = await made();
    await claim(session);
    await fixture.close(session.pk);
    const seen = async () => {
      const [own] = (await sql<{ status: string }>`select status from beads where id = ${bead}`.execute(fixture.db)).rows;
      const [city] = (await sql<{ due: boolean }>`select next_at is not null as due from city_pools`.execute(fixture.db)).rows;
      return [own?.status, city?.due];
    };
    const withWork = fixture.a.sessions.withWork.bind(fixture.a.sessions);
    const late = Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' });
    fixture.a.sessions.withWork = () => Promise.reject(late);
    await fixture.pass();
    expect(await seen()).toEqual(['in_progress', true]);
    fixture.a.sessions.withWork = withWork;
    await fixture.pass();
    expect(await seen()).toEqual(['open', false]);
  });

  it('keeps its lease while they have a process, and not beyond', async () => {
    const { bead, session } = await made();
    await claim(session);
    await fixture.ready(session.pk);
    expect(await fixture.one.claims.renew()).toBe(0);
    await sql`update beads set lease_until = now() + interval '1 minute'`.execute(fixture.db);
    expect(await fixture.one.claims.renew()).toBe(1);
    const until = (
      await sql<{ s: number }>`select extract(epoch from lease_until - now())::int as s from beads where id = ${bead}`.execute(fixture.db)
    ).rows[0]!.s;
    expect(until).toBeGreaterThan(500);
    await sql`update sessions set live = false, runner_id = null, state = 'asleep'`.execute(fixture.db);
    await sql`update beads set lease_until = now() + interval '1 minute'`.execute(fixture.db);
    expect(await fixture.one.claims.renew()).toBe(0);
  });
});
