import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { ANYBODY } from '../../../contract/principal.js';
import { Idempotency } from '../../../platform/idempotency/idempotency.js';
import { IdempotencyRepository } from '../../../platform/idempotency/idempotency.repository.js';
import { RosterRepository } from '../../configuration/roster/roster.repository.js';
import { RosterService } from '../../configuration/roster/roster.service.js';
import type { SessionRow } from '../../sessions/session-store/session-row.js';
import { WaitsRepository } from '../../work/waits/waits.repository.js';
import { WaitsService } from '../../work/waits/waits.service.js';
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
    >`select metadata ->> 'state' as state, metadata ->> 'last_error' as error from beads where id = ${id}`.execute(fixture.db)
  ).rows[0]!;
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
    expect(await stateOf(id)).toMatchObject({ state: 'failed', error: 'it was registered in an earlier conversation of the session' });
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
