import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { eventually } from '../../../../test/support/sse.js';
import { ClaimsOfSessions } from '../../sessions/session-store/claims-of-sessions.service.js';
import { SessionChangesService } from '../../sessions/session-store/session-changes.service.js';
import type { SessionRow } from '../../sessions/session-store/session-row.js';
import { SessionDeletionsRepository } from '../../sessions/sessions/session-deletions.repository.js';
import type { Work } from '../../work/work/work.js';
import { WorkService } from '../../work/work/work.service.js';
import type { RunnerProcess } from './testing/runner-process.js';
import { RunnerFixture } from './testing/runner-fixture.js';

let fixture: RunnerFixture;
let runner: RunnerProcess;
beforeEach(async () => {
  fixture = await RunnerFixture.open();
  runner = await fixture.runner('r1');
});
afterEach(() => fixture.close());

/** A session that is not started yet and holds a bead. */
async function holder(): Promise<{ session: SessionRow; bead: string }> {
  const session = await runner.create(fixture.city, { wake_request: undefined as never });
  const { value } = await runner.get(WorkService).run(fixture.city, 'test', (work) => work.create({ rig: '', title: 'work' }));
  await sql`update beads set status = 'in_progress', assignee = 'somebody', metadata = jsonb_build_object('gc.session_id', ${session.id}::text)
    where id = ${value.id}`.execute(fixture.db);
  return { session, bead: value.id };
}
const wake = (pk: number): Promise<unknown> => runner.patch(fixture.city, pk, { wake_request: 'explicit', wake_requested_at: new Date() });
const stop = async (pk: number, stop_request: 'drain' | 'close' | 'kill' | 'sleep'): Promise<void> => {
  await wake(pk);
  await fixture.until(pk, 'active');
  await runner.patch(fixture.city, pk, { stop_request });
};

/** How a session comes to its end, or to a rest. */
const ENDS: Readonly<Record<string, readonly [SessionRow['state'], (pk: number) => Promise<void>]>> = {
  'it has crashed too often': [
    'quarantined',
    async (pk) => {
      runner.plans.restarts = { maxCrashes: 1 };
      await runner.send(fixture.city, pk, 'crash');
    },
  ],
  'it cannot be started': [
    'failed-create',
    async (pk) => {
      fixture.host.refuse = () => 'not_found';
      await wake(pk);
    },
  ],
  'it is drained': ['asleep', (pk) => stop(pk, 'drain')],
  'it is closed': ['closed', (pk) => stop(pk, 'close')],
};

describe('what a session holds', () => {
  it.each(Object.keys(ENDS))('is open again, with an event, in the moment in which %s', async (how) => {
    const { session, bead } = await holder();
    const [state, end] = ENDS[how]!;
    await end(session.pk);
    await fixture.until(session.pk, state);
    const { rows } = await sql`select status, assignee from beads where id = ${bead}`.execute(fixture.db);
    expect(rows).toEqual([{ status: 'open', assignee: null }]);
    const events = await fixture.events();
    expect(events.filter(({ type }) => type === 'bead.dead_assignee_reopened')).toMatchObject([{ subject: bead }]);
  });

  it.each([
    ['it is closed', 'canceled'],
    ['it is drained', 'pending'],
  ])('where %s, its waits are %s', async (how, said) => {
    const { session } = await holder();
    const metadata = { state: 'pending', session_id: session.session_name, registered_session: session.id };
    const { value } = await runner
      .get(WorkService)
      .run(fixture.city, 'test', (work) => work.create({ rig: '', title: 'wait', type: 'gate', labels: ['gc:wait'], metadata }));
    const [state, end] = ENDS[how]!;
    await end(session.pk);
    await fixture.until(session.pk, state);
    const { rows } = await sql`select metadata ->> 'state' as state from beads where id = ${value.id}`.execute(fixture.db);
    expect(rows).toEqual([{ state: said }]);
  });

  it('is given back before it rests, in steps where it is much', async () => {
    const { session, bead } = await holder();
    await sql`insert into beads (stream_id, id, title, assignee, status)
      select stream_id, id || '-' || g, 'many', ${session.id}, 'open' from beads, generate_series(1, 500) g where id = ${bead}`.execute(
      fixture.db,
    );
    await stop(session.pk, 'drain');
    await fixture.until(session.pk, 'asleep');
    const { rows } = await sql<{ n: number }>`
      select count(*)::int as n from beads where assignee is null and status = 'open' group by xmin order by 1`.execute(fixture.db);
    expect(rows.map(({ n }) => n)).toEqual([101, 200, 200]);
  });

  it('is given back in steps where it is much, and its record stays until then', async () => {
    const session = await runner.create(fixture.city, { wake_request: undefined as never });
    const { value: first } = await runner.get(WorkService).run(fixture.city, 'test', (work) => work.create({ rig: '', title: 'work' }));
    await sql`insert into beads (stream_id, id, title, assignee, status, metadata)
      select stream_id, id || '-' || g, 'many', ${session.id}, case when g % 2 = 0 then 'open' else 'in_progress' end,
        case when g % 2 = 0 then '{}' else jsonb_build_object('gc.session_id', ${session.id}::text) end
      from beads, generate_series(1, 500) g where id = ${first.id}`.execute(fixture.db);
    const left = async (): Promise<number> =>
      (await sql<{ n: number }>`select count(*)::int as n from beads where assignee is not null`.execute(fixture.db)).rows[0]!.n;
    const claims = runner.get(ClaimsOfSessions);
    await runner.get(SessionChangesService).withWork(fixture.city, 'test', async (changes, work) => {
      await claims.end(changes, work, session, 'closed');
      await changes.close(session, 'operator', { set: { delete_pending: true } });
    });
    const marked = async () =>
      (await sql<{ holds_more: boolean }>`select holds_more from sessions where pk = ${session.pk}`.execute(fixture.db)).rows[0]
        ?.holds_more;
    expect([await left(), await marked()]).toEqual([300, true]);
    const deletions = new SessionDeletionsRepository(fixture.db);
    expect(await deletions.delete(session.pk)).toBe(false);
    const step = () => runner.get(WorkService).run(fixture.city, 'test', (work) => claims.releaseOrphaned(work, 200));
    expect([(await step()).value, (await step()).value, (await step()).value]).toEqual([200, 100, 0]);
    expect([await left(), await claims.hasOrphaned(fixture.city.streamId)]).toEqual([0, false]);
    expect(await marked()).toBe(false);
    const due = async () =>
      (await sql<{ due: boolean | null }>`select next_at <= clock_timestamp() as due from city_pools`.execute(fixture.db)).rows[0]?.due;
    await sql`insert into city_pools (stream_id, passed_at, head, next_at) select ${fixture.city.streamId}::bigint, now(), 0, null
      on conflict (stream_id) do update set next_at = null`.execute(fixture.db);
    expect(await due()).toBeNull();
    // Begun by a name alone, while somebody had the row of the session.
    await sql`update beads set status = 'in_progress', assignee = ${session.id}, metadata = '{}' where id = ${first.id}`.execute(
      fixture.db,
    );
    await sql`update sessions set holds_more = false where pk = ${session.pk}`.execute(fixture.db);
    expect(await deletions.delete(session.pk)).toBe(false);
    expect([await marked(), await due()]).toEqual([true, true]);
    await sql`update beads set status = 'open', assignee = null where id = ${first.id}`.execute(fixture.db);
    expect(await deletions.delete(session.pk)).toBe(true);
  });

  /** As whoever may not write the city's work closes a session. */
  const close = (session: SessionRow): Promise<void> =>
    runner.get(SessionChangesService).runInAnyState(fixture.city, 'test', async (changes) => {
      await changes.close((await changes.lock(session.pk))!, 'operator');
      await runner.get(ClaimsOfSessions).leave(changes, [session.pk]);
    });
  const giveBack = async (): Promise<[number, boolean]> => {
    const claims = runner.get(ClaimsOfSessions);
    const { value } = await runner.get(WorkService).run(fixture.city, 'test', (work) => claims.releaseOrphaned(work, 200));
    return [value, await claims.hasOrphaned(fixture.city.streamId)];
  };

  it.each<[string, (work: Work, assignee: string, own: string) => Promise<unknown>]>([
    ['a new bead', (work, assignee) => work.create({ rig: '', title: 'late', assignee })],
    ['one that is there', (work, assignee, own) => work.update(own, { assignee })],
    ['one that is begun by a name alone', (work, assignee, own) => work.update(own, { assignee, status: 'in_progress' })],
  ])('is also what it is given after its end: %s', async (_, give) => {
    const session = await runner.create(fixture.city, { wake_request: undefined as never });
    const { value: own } = await runner.get(WorkService).run(fixture.city, 'test', (work) => work.create({ rig: '', title: 'own' }));
    await close(session);
    expect([await giveBack(), await giveBack()]).toEqual([
      [0, false],
      [0, false],
    ]);
    // Many keep the row of a session for a moment, and change nothing of it.
    await fixture.db.transaction().execute(async (tx) => {
      await sql`select from sessions where pk = ${session.pk} for no key update`.execute(tx);
      await runner.get(WorkService).run(fixture.city, 'test', (work) => give(work, session.id, own.id));
    });
    expect(await runner.get(ClaimsOfSessions).hasOrphaned(fixture.city.streamId)).toBe(true);
    expect(await giveBack()).toEqual([1, false]);
  });

  it('is also what it is given while it ends', async () => {
    const session = await runner.create(fixture.city, { wake_request: undefined as never });
    await runner.get(WorkService).run(fixture.city, 'test', async (work) => {
      await work.create({ rig: '', title: 'late', assignee: session.id });
      await close(session);
    });
    expect(await giveBack()).toEqual([1, false]);
  });

  it('is also what is written for it before its city is waited for, while it ends', async () => {
    const session = await runner.create(fixture.city, { wake_request: undefined as never });
    const works = runner.get(WorkService);
    const { value: ids } = await works.run(fixture.city, 'test', (work) => work.reserve('', 1));
    const beads = ids.map((id) => ({ id, rig: '', title: 'late', assignee: session.id }));
    const waits = async (): Promise<boolean> =>
      (await sql`select 1 from pg_stat_activity where datname = current_database() and wait_event = 'advisory'`.execute(fixture.db)).rows
        .length > 0;
    let late: Promise<unknown> | undefined;
    await works.run(fixture.city, 'test', async (work) => {
      late = works.run(fixture.city, 'test', (own) => own.createAll(beads, []), { ahead: [{ beads, edges: [] }] });
      await eventually(waits);
      await close(session);
      expect(await runner.get(ClaimsOfSessions).releaseOrphaned(work, 200)).toBe(0);
    });
    await late;
    expect([await giveBack(), await giveBack()]).toEqual([
      [1, false],
      [0, false],
    ]);
  });

  it('is not what another one has begun that is assigned to it', async () => {
    const { session, bead } = await holder();
    const other = await runner.create(fixture.city, { wake_request: undefined as never });
    await sql`update beads set assignee = ${other.id} where id = ${bead}`.execute(fixture.db);
    await stop(other.pk, 'close');
    await fixture.until(other.pk, 'closed');
    expect(await runner.get(ClaimsOfSessions).hasOrphaned(fixture.city.streamId)).toBe(false);
    const { rows } = await sql`select status, metadata ->> 'gc.session_id' as holder from beads where id = ${bead}`.execute(fixture.db);
    expect(rows).toEqual([{ status: 'in_progress', holder: session.id }]);
  });

  it.each(['kill', 'sleep'] as const)('stays with it after a %s: it goes on with that when it is woken', async (wish) => {
    const { session, bead } = await holder();
    await stop(session.pk, wish);
    await fixture.until(session.pk, 'asleep');
    const { rows } = await sql`select status, assignee from beads where id = ${bead}`.execute(fixture.db);
    expect(rows).toEqual([{ status: 'in_progress', assignee: 'somebody' }]);
  });
});
