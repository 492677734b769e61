import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { eventually } from '../../../../test/support/sse.js';
import { RunnerFixture } from './testing/runner-fixture.js';

let fixture: RunnerFixture;
beforeEach(async () => {
  fixture = await RunnerFixture.open();
});
afterEach(() => fixture.close());

const command = async (pk: number): Promise<string> =>
  (await sql<{ status: string }>`select status from session_commands where pk = ${pk}`.execute(fixture.db)).rows[0]!.status;
const order = async (session: number, kind: string, body = '{}'): Promise<number> =>
  (
    await sql<{ pk: number }>`
      insert into session_commands (session_pk, generation, kind, body) select pk, generation, ${kind}, ${body}::jsonb from sessions
      where pk = ${session} returning pk`.execute(fixture.db)
  ).rows[0]!.pk;

it('a turn is ended by nothing that is only sent: reminders and messages come after it, in their order', async () => {
  const runner = await fixture.runner('r1');
  const { pk, id } = await runner.create(fixture.city);
  await fixture.untilMessage((await runner.send(fixture.city, pk, 'slow')).pk, 'delivered');
  const sent = [];
  for (const source of ['nudge', 'wait', 'message', 'submit'] as const)
    for (const intent of ['default', 'follow_up'] as const)
      sent.push(await runner.send(fixture.city, pk, `${source} ${intent}`, { source, intent }));
  // By the time a later command is done, the runner has seen all of them.
  const seen = await order(pk, 'set_option', '{"key":"permission_mode","value":"plan"}');
  await eventually(async () => (await command(seen)) === 'done');
  expect(fixture.host.alive[0]!.cancels).toBe(0);
  expect(fixture.host.told(id)).toEqual(['slow']);
  expect(await fixture.activity(pk)).toBe('in-turn');
  expect(await Promise.all(sent.map(async ({ pk: message }) => (await fixture.message(message)).status))).toEqual(sent.map(() => 'queued'));
  fixture.host.alive[0]!.release();
  for (const message of sent) await fixture.untilMessage(message.pk, 'delivered');
  expect(fixture.host.told(id)).toEqual(['slow', ...sent.map(({ body }) => body)]);
});

it('a session that is never idle takes a reminder at the end of its turn, before what is sent later', async () => {
  const runner = await fixture.runner('r1');
  const { pk, id } = await runner.create(fixture.city);
  await fixture.untilMessage((await runner.send(fixture.city, pk, 'slow')).pk, 'delivered');
  const reminder = await runner.send(fixture.city, pk, 'reminder', { source: 'nudge', intent: 'follow_up' });
  for (let turn = 1; turn <= 3; turn++) {
    const next = await runner.send(fixture.city, pk, `slow ${turn}`);
    fixture.host.alive[0]!.release();
    await fixture.untilMessage(next.pk, 'delivered');
  }
  expect((await fixture.message(reminder.pk)).status).toBe('delivered');
  expect(fixture.host.told(id)).toEqual(['slow', 'reminder', 'slow 1', 'slow 2', 'slow 3']);
});

it('what there is to do is told, not found by looking', async () => {
  const maker = await fixture.runner('maker', { capacity: 0 });
  const runner = await fixture.runner('r1', { timings: { pollMs: 3_600_000 } });
  const { pk, id } = await maker.create(fixture.city);
  await fixture.until(pk, 'active');
  await fixture.untilMessage((await maker.send(fixture.city, pk, 'hang')).pk, 'delivered');
  await fixture.untilMessage((await maker.send(fixture.city, pk, 'now', { intent: 'interrupt_now' })).pk, 'delivered');
  await maker.patch(fixture.city, pk, { stop_request: 'sleep' });
  await fixture.until(pk, 'asleep');
  await fixture.untilMessage((await maker.send(fixture.city, pk, 'again')).pk, 'delivered');
  expect(fixture.host.told(id)).toEqual(['hang', 'now', 'again']);
  expect(await fixture.row(pk)).toMatchObject({ generation: 2, runner_id: runner.runner.runnerId });
});
