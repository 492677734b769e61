import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { HostBusy } from '../../../platform/runtime/port.js';
import { RunnerFixture } from './testing/runner-fixture.js';

let fixture: RunnerFixture;
/** Starts that the host has no room for. */
let without: number;

beforeEach(async () => {
  fixture = await RunnerFixture.open();
  const cause = Object.assign(new Error('spawn EMFILE'), { code: 'EMFILE' });
  fixture.host.refuse = () => (without-- > 0 ? new HostBusy('agent could not be started: EMFILE', { cause }) : undefined);
});
afterEach(() => fixture.close());

describe('a start that the host has no room for', () => {
  it('is put off, however often, and its messages wait', async () => {
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
