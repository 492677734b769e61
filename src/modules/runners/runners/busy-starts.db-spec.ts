import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { HostBusy, StartError } from '../../../platform/runtime/port.js';
import { RunnerFixture } from './testing/runner-fixture.js';

let fixture: RunnerFixture;
/** Starts that the host has no room for. */
let without: number;
let busy: StartError;
const cause = Object.assign(new Error('spawn EMFILE'), { code: 'EMFILE' });

beforeEach(async () => {
  fixture = await RunnerFixture.open();
  busy = new HostBusy('agent could not be started: EMFILE', { cause });
  fixture.host.refuse = () => (without-- > 0 ? busy : undefined);
});
afterEach(() => fixture.close());

describe('a start that the host has no room for', () => {
  // Guard: whatever a start fails in, a folder, say.
  it.each(['HostBusy', 'died'] as const)('is put off, however often, and its messages wait: %s', async (how) => {
    if (how === 'died') busy = new StartError('died', 'agent could not be started: EMFILE', '', { cause });
    without = 6;
    const a = await fixture.runner('a', { timings: { shortMs: 20 } });
    const { pk } = await a.create(fixture.city);
    const message = await a.send(fixture.city, pk, 'hello');
    for (let n = 0; n < 6; n++) {
      const put = await fixture.when(pk, ({ not_before }) => not_before !== null);
      expect(put).toMatchObject({ state: 'asleep', failed_starts: 0, failure: 'agent could not be started: EMFILE' });
      await fixture.unpause(pk);
    }
    await fixture.untilMessage(message.pk, 'delivered');
    expect(await fixture.row(pk)).toMatchObject({ state: 'active', failed_starts: 0, failure: null });
    const told = await fixture.events('session.start_failed');
    expect(told).toHaveLength(6);
    for (const { payload } of told) {
      expect(payload).toMatchObject({ to: 'asleep', retry_at: expect.any(String) });
      expect(payload).not.toHaveProperty('attempt');
      expect(payload).not.toHaveProperty('attempts');
    }
  });

  it('is put off for longer each time in a row', async () => {
    without = 3;
    const a = await fixture.runner('a', { timings: { shortMs: 20 } });
    const { pk } = await a.create(fixture.city);
    const seconds: number[] = [];
    for (let n = 0; n < 3; n++) {
      const { generation, not_before, state_at } = await fixture.when(pk, (row) => row.generation === n + 1 && row.not_before !== null);
      seconds.push(Math.round((not_before!.getTime() - state_at.getTime()) / 5_000) * 5);
      // As if that time had passed.
      await sql`update sessions set state_at = state_at - interval '1 minute', not_before = not_before - interval '1 minute'
        where pk = ${pk} and generation = ${generation}`.execute(fixture.db);
    }
    expect(seconds).toEqual([5, 10, 20]);
    expect(await fixture.until(pk, 'active')).toMatchObject({ not_before: null });
  });

  it('has its runner leave others to those with room', async () => {
    without = 1;
    const a = await fixture.runner('a', { timings: { shortMs: 60_000 } });
    const { pk } = await a.create(fixture.city);
    await fixture.when(pk, ({ not_before }) => not_before !== null);
    const b = await fixture.runner('b', { timings: { overdueMs: 0 } });
    await fixture.unpause(pk);
    const more = await Promise.all([a.create(fixture.city), a.create(fixture.city)]);
    for (const one of [pk, ...more.map((made) => made.pk)])
      expect(await fixture.until(one, 'active')).toMatchObject({ runner_id: b.runner.runnerId });
  });
});
