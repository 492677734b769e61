import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import type { SessionRow } from '../../sessions/session-store/session-row.js';
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

  it.each(['kill', 'sleep'] as const)('stays with it after a %s: it goes on with that when it is woken', async (wish) => {
    const { session, bead } = await holder();
    await stop(session.pk, wish);
    await fixture.until(session.pk, 'asleep');
    const { rows } = await sql`select status, assignee from beads where id = ${bead}`.execute(fixture.db);
    expect(rows).toEqual([{ status: 'in_progress', assignee: 'somebody' }]);
  });
});
