import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { sql } from 'kysely';
import { eventually } from '../../../../test/support/sse.js';
import { Signals } from '../../../platform/streams/signals.js';
import { sleep } from '../../../platform/time/clock.js';
import { toldTopic } from '../../sessions/session-store/topics.js';
import { InboxRepository } from './inbox.repository.js';
import { RunnerFixture } from './testing/runner-fixture.js';

let fixture: RunnerFixture;
afterEach(() => fixture.close());

/** Two sessions of one runner, of which there is nothing new, and a process that runs nothing. */
async function begin(pollMs: number) {
  fixture = await RunnerFixture.open();
  const runner = await fixture.runner('a', { timings: { pollMs } });
  const other = await fixture.runner('b', { timings: { pollMs }, capacity: 0 });
  const [{ pk: one }, { pk: two }] = [await runner.create(fixture.city), await runner.create(fixture.city)];
  for (const pk of [one, two]) await fixture.until(pk, 'active');
  const inbox = runner.get(InboxRepository);
  const read = inbox.read.bind(inbox);
  const looks = jest.spyOn(inbox, 'read');
  // What begins to listen looks at all.
  for (const process of [runner, other]) await eventually(() => process.get(Signals).reliable);
  await eventually(async () => {
    looks.mockClear();
    await sleep(200);
    return looks.mock.calls.every(([, , some]) => some === undefined);
  });
  looks.mockClear();
  return { runner, other, one, two, looks, read };
}

describe('a look of a runner', () => {
  // With 250 sessions one at all of them takes four times as much.
  it('is at the session of which it has heard, wherever that was said, and at no other', async () => {
    const { runner, other, one, looks } = await begin(60_000);
    for (const from of [runner, other]) {
      const { pk } = await from.send(fixture.city, one, 'hello');
      await fixture.untilMessage(pk, 'delivered');
    }
    // One at all comes between where a machine is so busy that a listener thinks that its connection is lost.
    const some = looks.mock.calls.flatMap(([, , pks]) => (pks === undefined ? [] : [pks]));
    expect(some.length).toBeGreaterThanOrEqual(2);
    expect(some).toEqual(some.map(() => [one]));
  });

  it('is at all of them each time, however much it hears of one', async () => {
    const { runner, one, two, looks, read } = await begin(100);
    const signals = runner.get(Signals);
    // When one is over it has always heard of a session meanwhile, however slow the machine is.
    looks.mockImplementation(async (...asked) => {
      const found = await read(...asked);
      const heard = new Promise<void>((resolve) => {
        const unlisten = signals.onTopics((topics) => {
          if (topics === 'all' || !topics.has(toldTopic(one))) return;
          unlisten();
          resolve();
        });
      });
      signals.markNow(toldTopic(one));
      await heard;
      return found;
    });
    await runner.patch(fixture.city, one, { title: 'begins it' });
    await eventually(() => looks.mock.calls.some(([, , some]) => some !== undefined), 15_000);
    await sql`update sessions set generation = generation + 1 where pk = ${two}`.execute(fixture.db);
    await eventually(() => !runner.runner.sessions.has(two), 15_000);
  });

  it('takes a session from it that another has by now', async () => {
    const { runner, other, one, two } = await begin(60_000);
    await sql`update sessions set generation = generation + 1 where pk = ${one}`.execute(fixture.db);
    await other.patch(fixture.city, one, { title: 'elsewhere' });
    await eventually(() => !runner.runner.sessions.has(one));
    expect([...runner.runner.sessions.keys()]).toEqual([two]);
  });

  it('is at all of them where the release before has signalled', async () => {
    const { runner, one, two, looks } = await begin(60_000);
    await sql`update sessions set stop_request = 'sleep', stop_requested_at = now() where pk = any(${[one, two]}::bigint[])`.execute(
      fixture.db,
    );
    runner.signal(`r${runner.runner.runnerId!}`);
    for (const pk of [one, two]) await eventually(async () => (await fixture.row(pk)).state === 'asleep');
    expect(looks.mock.calls.some(([, , some]) => some === undefined)).toBe(true);
  });
});
