import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { ANYBODY } from '../../../contract/principal.js';
import type { AppConfig } from '../../../platform/config/config.js';
import type { DuePoller } from '../../../platform/database/due-poller.js';
import type { Lifecycle } from '../../../platform/health/lifecycle.js';
import { AppLogger, createLogger } from '../../../platform/logging/logger.js';
import type { Tx } from '../../../platform/database/transactions.js';
import type { Signals } from '../../../platform/streams/signals.js';
import { Idempotency } from '../../../platform/idempotency/idempotency.js';
import { IdempotencyRepository } from '../../../platform/idempotency/idempotency.repository.js';
import { RosterRepository } from '../../configuration/roster/roster.repository.js';
import { RosterService } from '../../configuration/roster/roster.service.js';
import type { SessionRow } from '../../sessions/session-store/session-row.js';
import type { SessionResolver } from '../../sessions/session-names/session-resolver.service.js';
import type { SessionRequests } from '../../sessions/sessions/session-requests.service.js';
import { SessionWakes } from '../../sessions/sessions/session-wakes.service.js';
import { SessionWaitsRepository } from '../../sessions/sessions/session-waits.repository.js';
import { WaitsRepository } from '../../work/waits/waits.repository.js';
import { WaitsService } from '../../work/waits/waits.service.js';
import { PoolsReconciler } from './pools.reconciler.js';
import type { ScaleChecks } from './scale-checks.js';
import type { WaitDelivery } from './wait-delivery.js';
import { poolFixture, type PoolProcess, type PoolFixture } from './testing/pool-fixture.js';

let fixture: PoolFixture;
let waits: WaitsService;
let session: SessionRow;
beforeEach(async () => {
  fixture = await poolFixture();
  waits = new WaitsService(
    fixture.work,
    new RosterService(new RosterRepository(fixture.db)),
    new Idempotency(new IdempotencyRepository()),
    new WaitsRepository(fixture.db),
  );
  session = await fixture.session('asleep');
});
afterEach(() => fixture.stop());

const wait = async (named = session.id): Promise<{ id: string; bead: string }> => {
  const bead = await fixture.bead({});
  const { value } = await waits.create(
    fixture.city,
    { session: named, kind: 'deps', dep_ids: [bead], dep_mode: 'all', note: 'the build is green' } as never,
    undefined,
    ANYBODY,
  );
  return { id: value.id, bead };
};
const close = (id: string): Promise<unknown> => fixture.work.run(fixture.city, 'tester', (work) => work.close(id));
const stateOf = async (id: string): Promise<Record<string, unknown>> =>
  (
    await sql<
      Record<string, unknown>
    >`select metadata ->> 'state' as state, metadata ->> 'last_error' as error, metadata ->> 'nudge_id' as nudge from beads where id = ${id}`.execute(
      fixture.db,
    )
  ).rows[0]!;
/** Somebody wakes the session. */
const wake = (): Promise<unknown> => {
  const resolver = { resolve: () => Promise.resolve(session) } as unknown as SessionResolver;
  const requests = { requireStartable: () => Promise.resolve(), isForNext: () => Promise.resolve(false) } as unknown as SessionRequests;
  const wakes = new SessionWakes(resolver, fixture.a.sessions, requests, fixture.a.queue, new SessionWaitsRepository());
  return wakes.wake(fixture.city, session.id, {} as never, ANYBODY);
};
const deliver = async (at: PoolProcess = fixture.one): Promise<number> =>
  at.waits.deliver((await at.repository.city(fixture.city.streamId))!);

describe('a ready wait', () => {
  it('wakes its session, once, and is closed when its note has been delivered', async () => {
    const { id, bead } = await wait();
    expect(await deliver()).toBe(0);
    await close(bead);
    await Promise.all([deliver(fixture.one), deliver(fixture.two)]);
    expect(await fixture.row(session.pk)).toMatchObject({ wake_request: 'message' });
    expect(await fixture.statuses(session.pk)).toEqual(['queued']);
    expect(await deliver()).toBe(0);
    await fixture.ready(session.pk);
    const message = await fixture.deliverNext(session.pk);
    expect(message).toMatchObject({ body: 'the build is green', source: 'wait' });
    expect(await stateOf(id)).toMatchObject({ state: 'ready' });
    await Promise.all([deliver(fixture.one), deliver(fixture.two)]);
    expect(await stateOf(id)).toMatchObject({ state: 'closed' });
    expect((await fixture.statuses(session.pk)).length).toBe(1);
  });

  it('fails when the conversation that it was registered in is over', async () => {
    const { id, bead } = await wait();
    await fixture.set(session.pk, { epoch: 2 });
    await close(bead);
    await deliver();
    expect(await stateOf(id)).toMatchObject({ state: 'failed', error: 'it was registered in another conversation of the session' });
    expect(await fixture.statuses(session.pk)).toEqual([]);
  });

  it('fails when its note is dropped', async () => {
    const { id, bead } = await wait();
    await close(bead);
    await deliver();
    await sql`update session_messages set status = 'expired', ended_at = now(), error_message = 'too late'`.execute(fixture.db);
    await deliver();
    expect(await stateOf(id)).toMatchObject({ state: 'failed', error: 'too late' });
  });

  it('stays ready for somebody who has no session here', async () => {
    const { id, bead } = await wait('somebody');
    await close(bead);
    expect(await deliver()).toBe(0);
    expect(await stateOf(id)).toMatchObject({ state: 'ready' });
  });

  it('is told once by whoever has its name, although the name has moved on meanwhile', async () => {
    await fixture.set(session.pk, { agent_name: 'worker' });
    const { id, bead } = await wait('somebody');
    await sql`update beads set metadata = metadata || '{"session_id":"worker"}' where id = ${id}`.execute(fixture.db);
    await close(bead);
    await deliver();
    await fixture.ready(session.pk);
    await fixture.deliverNext(session.pk);
    const next = await fixture.session('active', { live: true });
    await fixture.set(next.pk, { agent_name: 'worker' });
    await deliver();
    expect(await stateOf(id)).toMatchObject({ state: 'closed' });
    expect(await fixture.statuses(session.pk)).toEqual(['delivered']);
    expect(await fixture.statuses(next.pk)).toEqual([]);
  });

  // Guard: a session is not told of what it waits for no more.
  it('is not told when its session is woken before its note is queued', async () => {
    const { id, bead } = await wait();
    await close(bead);
    const { sessions } = fixture.b;
    const run = sessions.runInAnyState.bind(sessions);
    sessions.runInAnyState = async (...of) => {
      await wake();
      return run(...of);
    };
    await deliver(fixture.two);
    expect(await stateOf(id)).toMatchObject({ state: 'canceled' });
    expect(await fixture.statuses(session.pk)).toEqual([]);
  });

  it('is left alone when it was accepted meanwhile', async () => {
    const { id, bead } = await wait();
    await close(bead);
    await deliver();
    const nudge = `wait-${id}-1-1`;
    await waits.accept(fixture.city, id, { nudge_id: nudge }, ANYBODY);
    await fixture.ready(session.pk);
    await fixture.deliverNext(session.pk);
    expect(await deliver()).toBe(0);
    expect(await stateOf(id)).toMatchObject({ state: 'closed' });
  });
});

describe('a wait that a session has written itself', () => {
  const forge = async (metadata: Record<string, string>): Promise<string> => {
    const { value } = await fixture.work.run(fixture.city, 'tester', (work) =>
      work.create({ rig: '', title: 'forged', type: 'gate', labels: ['gc:wait'], metadata: { state: 'ready', ...metadata } }),
    );
    return value.id;
  };
  const looks = async (): Promise<void> => {
    for (let n = 0; n < 4; n++) await deliver(n % 2 === 0 ? fixture.one : fixture.two);
  };

  it.each(['x', '99999999999', '-1', '1.5', ' 1', '2'])(
    'fails when %j is the conversation that it names, and holds up no other',
    async (epoch) => {
      const forged = await forge({ registered_session: session.id, registered_epoch: epoch });
      const { id, bead } = await wait();
      await close(bead);
      await looks();
      expect(await stateOf(forged)).toMatchObject({ state: 'failed', error: 'it was registered in another conversation of the session' });
      expect(await stateOf(id)).toMatchObject({ state: 'ready' });
      expect(await fixture.statuses(session.pk)).toEqual(['queued']);
    },
  );

  it('is told once where it has no nudge, and closed', async () => {
    const id = await forge({ session_id: session.id });
    await Promise.all([deliver(fixture.one), deliver(fixture.two)]);
    await looks();
    expect(await fixture.statuses(session.pk)).toEqual(['queued']);
    await fixture.ready(session.pk);
    await fixture.deliverNext(session.pk);
    await looks();
    expect(await stateOf(id)).toMatchObject({ state: 'closed' });
    expect(await fixture.statuses(session.pk)).toEqual(['delivered']);
  });

  it('is told once where somebody has written that a pending one is ready', async () => {
    const { id } = await wait();
    await fixture.work.run(fixture.city, 'tester', (work) => work.update(id, { metadata: { state: 'ready' } }));
    await looks();
    expect(await fixture.statuses(session.pk)).toEqual(['queued']);
  });

  it.each([
    ['of another wait', (id: string) => `wait-${id}-1-1`],
    ['that no index takes', () => randomBytes(8_000).toString('hex')],
  ])('gets a nudge of its own for one %s', async (_what, nudge) => {
    const other = await fixture.session('asleep');
    const { id, bead } = await wait();
    const forged = await forge({ session_id: other.id, nudge_id: nudge(id) });
    await close(bead);
    await looks();
    expect(await fixture.statuses(session.pk)).toEqual(['queued']);
    expect(await fixture.statuses(other.pk)).toEqual(['queued']);
    expect(await stateOf(forged)).toMatchObject({ state: 'ready', nudge: `wait-${forged}-1-1` });
  });

  it('makes its nudge of numbers only', async () => {
    const text = randomBytes(8_000).toString('hex');
    const id = await forge({ session_id: session.id, registered_epoch: text, delivery_attempt: text });
    await looks();
    expect(await stateOf(id)).toMatchObject({ nudge: `wait-${id}-1-1` });
    expect(await fixture.statuses(session.pk)).toEqual(['queued']);
  });
});

describe('the wait of a session that has ended', () => {
  const canceled = { state: 'canceled', by: 'reconciler', why: expect.stringMatching(/^session al-\d+ has ended$/) };
  const told = async (id: string): Promise<Record<string, unknown>> =>
    (
      await sql<Record<string, unknown>>`select metadata ->> 'state' as state, metadata ->> 'canceled_by' as by,
        metadata ->> 'close_reason' as why from beads where id = ${id}`.execute(fixture.db)
    ).rows[0]!;
  const end = (row: SessionRow, how: 'end' | 'release'): Promise<unknown> =>
    fixture.a.sessions.withWork(fixture.city, 'reconciler', async (changes, work) => {
      const locked = await changes.require(row.pk, row.id);
      await fixture.one.claims[how](changes, work, locked, 'closed');
      if (how === 'end') await changes.close(locked, 'operator');
    });

  it('ends with it, in the same transaction, and not where the session only rests', async () => {
    const other = await fixture.session('asleep');
    const { id } = await wait();
    const { id: ready, bead } = await wait();
    await close(bead);
    const { id: others } = await wait(other.id);
    const { id: anybodys } = await wait('somebody');
    await end(session, 'release');
    expect(await told(id)).toMatchObject({ state: 'pending' });
    await end(session, 'end');
    expect([await told(id), await told(ready)]).toEqual([canceled, canceled]);
    expect([await told(others), await told(anybodys)]).toMatchObject([{ state: 'pending' }, { state: 'pending' }]);
  });

  it('has ended as it should where its note was delivered, before anybody has looked', async () => {
    const { id, bead } = await wait();
    await close(bead);
    await deliver();
    await fixture.ready(session.pk);
    await fixture.deliverNext(session.pk);
    expect(await told(id)).toMatchObject({ state: 'ready' });
    await end((await fixture.row(session.pk)) as SessionRow, 'end');
    expect(await told(id)).toEqual({ state: 'closed', by: null, why: null });
  });

  it.each(['the next one has', 'nobody has'])('can be made ready again, and is told to its name where %s it', async (who) => {
    const named = { agent: 'worker', agent_name: 'worker', template: 'worker' };
    await fixture.set(session.pk, named);
    const { id } = await wait('worker');
    await end(session, 'end');
    const next = who === 'nobody has' ? undefined : await fixture.session('asleep');
    if (next !== undefined) await fixture.set(next.pk, { ...named, epoch: 3 });
    const { value } = await waits.ready(fixture.city, id, undefined, ANYBODY);
    await fixture.pass();
    await deliver();
    await fixture.work.run(fixture.city, 'reconciler', (work) => fixture.one.claims.releaseOrphaned(work, 100));
    expect(await stateOf(value.id)).toMatchObject({ state: 'ready' });
    expect(value.registered_epoch).toBe(next === undefined ? '1' : '3');
    expect(next && (await fixture.statuses(next.pk))).toEqual(next && ['queued']);
  });

  it('is, registered by its id, told to the next one in its place', async () => {
    const named = { agent: 'worker', agent_name: 'worker', template: 'worker' };
    await fixture.set(session.pk, named);
    const { id } = await wait(session.id);
    await end(session, 'end');
    const next = await fixture.session('asleep');
    await fixture.set(next.pk, named);
    await waits.ready(fixture.city, id, undefined, ANYBODY);
    await fixture.pass();
    await deliver();
    expect(await fixture.statuses(next.pk)).toEqual(['queued']);
    await sql`delete from sessions where pk = ${session.pk}`.execute(fixture.db);
    await expect(waits.ready(fixture.city, id, undefined, ANYBODY)).rejects.toMatchObject({ problem: 'wrong_state' });
  });

  it('is told to its own session where that lives, whoever has its name besides', async () => {
    const named = { agent: 'worker', agent_name: 'worker', template: 'worker' };
    await fixture.set(session.pk, named);
    const { id } = await wait('worker');
    await waits.cancel(fixture.city, id, {}, ANYBODY);
    const other = await fixture.session('asleep');
    await fixture.set(other.pk, named);
    await waits.ready(fixture.city, id, undefined, ANYBODY);
    await fixture.pass();
    await deliver();
    expect([await fixture.statuses(session.pk), await fixture.statuses(other.pk)]).toEqual([['queued'], []]);
  });

  it('is not that of the next one with its name, which is woken for its work', async () => {
    await fixture.set(session.pk, { agent: 'worker', agent_name: 'worker', template: 'worker' });
    const { id } = await wait('worker');
    expect(
      (await sql`select from beads where metadata @> ${JSON.stringify({ registered_session: session.id })}`.execute(fixture.db)).rows,
    ).toHaveLength(1);
    // As by a city that does not run: whoever ends the session has no work to change.
    await fixture.close(session.pk);
    const next = await fixture.session('asleep');
    await fixture.set(next.pk, { agent: 'worker', agent_name: 'worker', template: 'worker' });
    const begun = await fixture.bead({ 'gc.session_id': next.id });
    await sql`update beads set status = 'in_progress', assignee = 'worker' where id = ${begun}`.execute(fixture.db);
    expect(await fixture.pass()).toMatchObject([{ do: 'wake', pk: next.pk, why: 'work' }]);
    expect(await told(id)).toEqual(canceled);
    expect(await fixture.one.claims.hasOrphaned(fixture.city.streamId)).toBe(false);
  });

  it('keeps its session asleep for as long as that is there', async () => {
    await fixture.set(session.pk, { agent: 'worker', agent_name: 'worker', template: 'worker' });
    const { id } = await wait('worker');
    const begun = await fixture.bead({ 'gc.session_id': session.id });
    await sql`update beads set status = 'in_progress', assignee = 'worker' where id = ${begun}`.execute(fixture.db);
    expect(await fixture.pass()).toEqual([]);
    expect(await told(id)).toMatchObject({ state: 'pending' });
  });

  it('stays that of a name where nobody had it, also when no session is left', async () => {
    const { id } = await wait('somebody');
    await fixture.close(session.pk);
    expect(await fixture.one.claims.hasOrphaned(fixture.city.streamId)).toBe(false);
    expect(await told(id)).toMatchObject({ state: 'pending' });
  });

  it('is ended by a wake of its own session, and by one of another that has its name only where it was registered for nobody', async () => {
    await fixture.set(session.pk, { agent: 'worker', agent_name: 'worker', template: 'worker' });
    const { id } = await wait('worker');
    await sql`update beads set labels = array_append(labels, 'session:worker') where id = ${id}`.execute(fixture.db);
    const next = await fixture.session('asleep');
    await fixture.set(next.pk, { agent: 'worker', agent_name: 'worker', template: 'worker', slot: 1 });
    const ends = async (pk: number) =>
      new SessionWaitsRepository().liveWaits(fixture.db as unknown as Tx, (await fixture.row(pk)) as SessionRow);
    expect([await ends(session.pk), await ends(next.pk)]).toEqual([[id], []]);
    await sql`update beads set metadata = metadata - 'registered_session' where id = ${id}`.execute(fixture.db);
    expect(await ends(next.pk)).toEqual([id]);
  });

  it('is ended by a wake also where its session has more than one step ends', async () => {
    const { id } = await wait();
    await sql`insert into beads (stream_id, id, title, issue_type, labels, metadata)
      select stream_id, id || '-' || g, title, issue_type, labels, metadata from beads, generate_series(1, 250) g where id = ${id}`.execute(
      fixture.db,
    );
    const withWork = fixture.a.sessions.withWork.bind(fixture.a.sessions);
    let steps = 0;
    const late = Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' });
    fixture.a.sessions.withWork = (...step) => (++steps === 2 ? Promise.reject(late) : withWork(...step));
    await wake();
    const { rows } =
      await sql`select metadata ->> 'state' as state, count(*)::int as n from beads where issue_type = 'gate' group by 1`.execute(
        fixture.db,
      );
    expect(rows).toEqual([{ state: 'canceled', n: 251 }]);
  });

  // Guard: the pools look at the city between two steps of a wake.
  it('is ended by a wake with its note where that was queued between two steps, and a later one is not', async () => {
    const { id, bead } = await wait();
    await close(bead);
    await sql`insert into beads (stream_id, id, title, issue_type, labels, metadata)
      select stream_id, id || '-' || g, title, issue_type, labels, metadata || jsonb_build_object('nudge_id', 'wait-' || id || '-' || g || '-1-1')
      from beads, generate_series(1, 120) g where id = ${id}`.execute(fixture.db);
    const withWork = fixture.a.sessions.withWork.bind(fixture.a.sessions);
    let steps = 0;
    let later: string | undefined;
    fixture.a.sessions.withWork = async (...step) => {
      if (++steps === 2) {
        const { id: added, bead: its } = await wait();
        await close(its);
        await deliver(fixture.two);
        later = added;
      }
      return withWork(...step);
    };
    await wake();
    expect(await stateOf(later!)).toMatchObject({ state: 'ready' });
    const { rows } = await sql`select status, count(*)::int as n from session_messages group by 1 order by 1`.execute(fixture.db);
    expect(rows).toEqual([
      { status: 'cancelled', n: 21 },
      { status: 'queued', n: 1 },
    ]);
  });

  it('ends in steps where there are many', async () => {
    for (let n = 0; n < 3; n++) await wait();
    await sql`update beads set metadata = metadata || '{"registered_session":"al-gone"}' where issue_type = 'gate'`.execute(fixture.db);
    const { value } = await fixture.work.run(fixture.city, 'reconciler', (work) => fixture.one.claims.releaseOrphaned(work, 2));
    expect(value).toBe(2);
    expect(await fixture.one.claims.hasOrphaned(fixture.city.streamId)).toBe(true);
  });
});

it('waits that cannot be told keep no pool standing, and are tried again', async () => {
  const { pass, repository, claims } = fixture.one;
  const waits = { deliver: () => Promise.reject(new Error('it fails')) } as unknown as WaitDelivery;
  const log = new AppLogger(createLogger('silent'));
  const rest = [{} as ScaleChecks, claims, {} as Signals, {} as DuePoller, {} as AppConfig, log, {} as Lifecycle] as const;
  await fixture.bead();
  const city = (await repository.city(fixture.city.streamId))!;
  await new PoolsReconciler(repository, pass, waits, ...rest).look(city);
  const { rows } = await sql<{ head: number; soon: boolean }>`
    select head, next_at <= clock_timestamp() + interval '1 second' as soon from city_pools`.execute(fixture.db);
  expect(rows).toEqual([{ head: city.head, soon: true }]);
  expect(await fixture.open()).toHaveLength(2);
});
