import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { eventually } from '../../../../test/support/sse.js';
import { StartError } from '../../../platform/runtime/port.js';
import type { CityConfig } from '../../files/composition/city-config.js';
import { MASK } from '../../files/composition/mask.js';
import { ConfigReadsService } from '../../configuration/config/config-reads.service.js';
import { RunnerFixture } from './testing/runner-fixture.js';
import type { RunnerProcess } from './testing/runner-process.js';

let fixture: RunnerFixture;
let runner: RunnerProcess;

beforeEach(async () => {
  fixture = await RunnerFixture.open();
  runner = await fixture.runner('r1');
});
afterEach(() => fixture.close());

const create = () => runner.create(fixture.city);

describe('a runner', () => {
  it('starts what is wanted, once, under a generation of its own', async () => {
    const { pk, id } = await runner.create(fixture.city, { options: { model: 'x' } });
    const row = await fixture.until(pk, 'active');
    const { parts } = await runner.plans.plan(fixture.city, row);
    const noted = await sql`select launch_parts, launch_options from sessions where pk = ${pk}`.execute(fixture.db);
    expect(noted.rows).toEqual([{ launch_parts: parts, launch_options: { model: 'x' } }]);
    expect(row).toMatchObject({
      generation: 1,
      live: true,
      runner_id: runner.runner.runnerId,
      session_key: 'conversation-1',
      launch_hash: 'f1',
    });
    expect(row.wake_request).toBeNull();
    expect(row.instance_token).toMatch(/^[0-9a-f]{32}$/);
    expect(fixture.host.alive.map(({ session, generation }) => [session, generation])).toEqual([[id, '1']]);
    expect((await fixture.events()).map(({ type }) => type)).toEqual([
      'session.created',
      'session.starting',
      'session.woke',
      'worker.operation',
    ]);
  });

  it('delivers messages one after the other, each in a turn that is recorded', async () => {
    const { pk, id } = await create();
    const sent = [await runner.send(fixture.city, pk, 'one'), await runner.send(fixture.city, pk, 'two')];
    for (const message of sent) await fixture.untilMessage(message.pk, 'delivered');
    await eventually(async () => (await fixture.activity(pk)) === 'idle');
    expect(fixture.host.told(id)).toEqual(['one', 'two']);
    expect(await fixture.transcript(pk)).toEqual(['user: one', 'assistant: echo: one', 'user: two', 'assistant: echo: two']);
    const { rows } = await sql`select turn, generation, stop_reason from session_turns where session_pk = ${pk} order by turn`.execute(
      fixture.db,
    );
    expect(rows).toEqual([
      { turn: 1, generation: 1, stop_reason: 'end_turn' },
      { turn: 2, generation: 1, stop_reason: 'end_turn' },
    ]);
    const done = (await fixture.events('worker.operation')).map(({ payload }) => [payload.operation, payload.result, payload.delivered]);
    expect(done).toEqual([
      ['start', 'succeeded', undefined],
      ['message', 'succeeded', true],
      ['message', 'succeeded', true],
    ]);
    expect(await fixture.turns(pk)).toEqual(['started 1 in-turn', 'ended 1 end_turn idle', 'started 2 in-turn', 'ended 2 end_turn idle']);
  });

  it('begins a new conversation with its prompt and says it once', async () => {
    runner.plans.prompt = 'you are a test';
    const { pk, id } = await create();
    const message = await runner.send(fixture.city, pk, 'hello');
    await fixture.untilMessage(message.pk, 'delivered');
    expect(fixture.host.told(id)).toEqual(['you are a test', 'hello']);
    // Nobody has asked for the first.
    expect((await fixture.turns(pk)).slice(0, 3)).toEqual(['started 1 in-turn', 'ended 1 end_turn idle', 'started 2 in-turn']);
    await runner.patch(fixture.city, pk, { stop_request: 'sleep' });
    await fixture.until(pk, 'asleep');
    const again = await runner.send(fixture.city, pk, 'again');
    await fixture.untilMessage(again.pk, 'delivered');
    expect(fixture.host.processes.map(({ prompts, continued }) => [continued, prompts])).toEqual([
      ['new', ['you are a test', 'hello']],
      ['resumed', ['again']],
    ]);
    await runner.patch(fixture.city, pk, { stop_request: 'reset' });
    await fixture.when(pk, (row) => row.generation === 3 && row.state === 'active');
    await eventually(() => fixture.host.processes[2]!.prompts.length === 1);
    expect(fixture.host.processes[2]).toMatchObject({ continued: 'new', prompts: ['you are a test'] });
    expect(await fixture.row(pk)).toMatchObject({ epoch: 2, reset_pending: false });
    expect(await fixture.transcript(pk)).toContainEqual(expect.stringMatching(/^compaction: /));
  });

  it.each([
    ['sleep', 'asleep', 'idle', 'session.stopped'],
    ['kill', 'asleep', 'killed', 'session.stopped'],
    ['drain', 'asleep', 'drained', 'session.stopped'],
    ['suspend', 'suspended', null, 'session.suspended'],
    ['close', 'closed', 'operator', 'session.closed'],
  ] as const)('carries out %s', async (stop_request, state, reason, event) => {
    const { pk } = await create();
    await fixture.until(pk, 'active');
    await runner.patch(fixture.city, pk, { stop_request });
    const row = await fixture.until(pk, state);
    expect(row).toMatchObject({ reason, runner_id: null, live: false, stop_request: null, instance_token: null });
    expect(fixture.host.alive).toEqual([]);
    expect(await fixture.events(event)).toHaveLength(1);
  });

  it('lets a turn end before it drains, and not longer than the deadline', async () => {
    const { pk } = await create();
    const message = await runner.send(fixture.city, pk, 'slow');
    await fixture.untilMessage(message.pk, 'delivered');
    await runner.sessions.runInAnyState(fixture.city, 'test', async (changes) => {
      const row = (await changes.lock(pk))!;
      await changes.move(row, 'drain', {
        set: { stop_request: 'drain', stop_reason: 'drained', stop_deadline: new Date(Date.now() + 3_600_000) },
      });
    });
    await fixture.when(pk, (row) => row.state === 'draining');
    // Its actor has seen by then that it is to drain.
    await command(pk, 'set_option', { key: 'a', value: 'b' });
    expect(fixture.host.alive).toHaveLength(1);
    fixture.host.alive[0]!.release();
    await fixture.until(pk, 'asleep');

    const next = await runner.send(fixture.city, pk, 'slow');
    await fixture.untilMessage(next.pk, 'delivered');
    await runner.patch(fixture.city, pk, { stop_request: 'drain', stop_deadline: new Date(Date.now() - 1_000) });
    await fixture.until(pk, 'asleep');
    expect(fixture.host.alive).toEqual([]);
  });

  it('interrupts a turn, and delivers first what interrupts', async () => {
    const { pk, id } = await create();
    const first = await runner.send(fixture.city, pk, 'hang');
    await fixture.untilMessage(first.pk, 'delivered');
    const waiting = await runner.send(fixture.city, pk, 'later');
    const urgent = await runner.send(fixture.city, pk, 'now', { intent: 'interrupt_now' });
    for (const message of [waiting, urgent]) await fixture.untilMessage(message.pk, 'delivered');
    expect(fixture.host.told(id)).toEqual(['hang', 'now', 'later']);
    expect(fixture.host.alive[0]!.cancels).toBe(1);

    const second = await runner.send(fixture.city, pk, 'hang');
    await fixture.untilMessage(second.pk, 'delivered');
    await command(pk, 'interrupt');
    expect(await fixture.activity(pk)).toBe('idle');
  });

  it('ends a process that goes on with its turn although a message interrupts', async () => {
    const { pk, id } = await create();
    const first = await runner.send(fixture.city, pk, 'deaf');
    await fixture.untilMessage(first.pk, 'delivered');
    runner.time({ cancelMs: 50 });
    const urgent = await runner.send(fixture.city, pk, 'now', { intent: 'interrupt_now' });
    await fixture.untilMessage(urgent.pk, 'delivered');
    expect(fixture.host.told(id)).toEqual(['deaf', 'now']);
    expect(fixture.host.processes.map(({ continued }) => continued)).toEqual(['new', 'resumed']);
  });

  it('a turn that was to end has ended with its process', async () => {
    const { pk } = await create();
    const message = await runner.send(fixture.city, pk, 'deaf');
    await fixture.untilMessage(message.pk, 'delivered');
    const { rows } = await sql<{ pk: number }>`
      with k as (update sessions set stop_request = 'kill', stop_requested_at = now() where pk = ${pk})
      insert into session_commands (session_pk, generation, kind) values (${pk}, 1, 'interrupt') returning pk`.execute(fixture.db);
    await fixture.until(pk, 'asleep');
    expect(await statusOf(rows[0]!.pk)).toBe('done');
  });

  it('sets an option of the live agent and remembers it', async () => {
    const { pk } = await create();
    await fixture.until(pk, 'active');
    await command(pk, 'set_option', { key: 'permission_mode', value: 'plan' });
    expect(fixture.host.alive[0]!.set).toEqual({ permission_mode: 'plan' });
    expect((await fixture.row(pk)).options).toEqual({ permission_mode: 'plan' });
  });

  it('passes a question on and its answer back, once', async () => {
    const { pk } = await create();
    const message = await runner.send(fixture.city, pk, 'ask');
    await fixture.untilMessage(message.pk, 'delivered');
    await eventually(async () => (await question(pk))?.status === 'open');
    await sql`update session_interactions set status = 'answered', action = 'yes', answer = '{}', closed_at = now(), closed_rev = 1000
      where session_pk = ${pk}`.execute(fixture.db);
    await eventually(async () => (await question(pk))?.applied === true);
    await eventually(async () => (await fixture.activity(pk)) === 'idle');
    await fixture.untilMessage((await runner.send(fixture.city, pk, 'afterwards')).pk, 'delivered');
    await runner.runner.look();
    expect(fixture.host.alive[0]!.answers).toEqual([{ requestId: 'question-1', answer: { action: 'yes' } }]);
    expect((await fixture.events('session.interaction.opened')).length).toBe(1);
  });

  it('tells a crash with its last words and starts again where something was lost', async () => {
    const { pk } = await create();
    const message = await runner.send(fixture.city, pk, 'crash');
    await fixture.untilMessage(message.pk, 'delivered');
    await fixture.unpause(pk);
    await fixture.when(pk, (row) => row.generation === 2 && row.live);
    expect(await fixture.row(pk)).toMatchObject({ state: 'active', crashes: [expect.any(Date)] });
    const [crash] = await fixture.events('session.crashed');
    expect(crash).toMatchObject({ payload: { reason: 'crashed' }, message: expect.stringContaining('crashed') });
    expect(await fixture.events('session.stopped')).toEqual([]);
  });

  it('quarantines a session after as many crashes as its city allows', async () => {
    runner.plans.restarts = { maxCrashes: 2 };
    const { pk } = await create();
    await runner.send(fixture.city, pk, 'crash');
    await fixture.unpause(pk);
    await fixture.when(pk, (row) => row.generation === 2 && row.live);
    await runner.send(fixture.city, pk, 'crash');
    const row = await fixture.until(pk, 'quarantined');
    expect(row).toMatchObject({ reason: 'quarantine', crashes: [expect.any(Date), expect.any(Date)] });
  });

  it('opens the circuit of a named session that is started again and again for nothing, and not before', async () => {
    const daemon = { session_circuit_breaker: true, session_circuit_breaker_max_restarts: 1 };
    const config = {
      workspace: {},
      providers: {},
      resolved_providers: {},
      agents: [],
      named_sessions: [],
      rigs: [],
      daemon,
    } as unknown as CityConfig;
    Object.assign(runner.get(ConfigReadsService), { known: () => Promise.resolve({ config, revision: 1, hash: '', index: 0 }) });
    const { pk } = await runner.create(fixture.city, { origin: 'named', named_identity: 'boss' });
    await fixture.until(pk, 'active');
    const dies = async (): Promise<void> => fixture.host.alive[0]!.die({ code: 1, signal: null, cause: 'crashed', stderrTail: '' });
    const again = async (generation: number): Promise<void> => {
      await fixture.when(pk, (row) => row.state === 'asleep');
      await runner.patch(fixture.city, pk, { wake_request: 'named', wake_requested_at: new Date(), not_before: null });
      await fixture.when(pk, (row) => row.live && row.generation === generation);
    };
    await dies();
    await again(2);
    expect((await fixture.row(pk)).restarts).toHaveLength(1);
    const message = await runner.send(fixture.city, pk, 'hello');
    await fixture.untilMessage(message.pk, 'delivered');
    // A finished turn is progress: the count begins anew.
    await fixture.when(pk, (row) => row.restarts.length === 0);
    await eventually(async () => (await fixture.activity(pk)) === 'idle');
    await runner.patch(fixture.city, pk, { stop_request: 'kill' });
    await again(3);
    expect((await fixture.row(pk)).restarts).toEqual([]);
    await dies();
    await again(4);
    await dies();
    const row = await fixture.until(pk, 'quarantined');
    expect(row).toMatchObject({ reason: 'circuit-open', restarts: [expect.any(Date), expect.any(Date)], live: false });
    expect(row.circuit_until!.getTime()).toBeGreaterThan(Date.now() + 119 * 60_000);
    expect(await fixture.events('session.quarantined')).toMatchObject([
      { message: expect.stringMatching(/^circuit-open until .*1 times/) },
    ]);
  });

  it('leaves a message unconfirmed whose process died before it said anything', async () => {
    const { pk, id } = await create();
    const message = await runner.send(fixture.city, pk, 'die');
    await fixture.untilMessage(message.pk, 'unconfirmed');
    await fixture.unpause(pk);
    await fixture.when(pk, (row) => row.generation === 2 && row.live);
    expect(fixture.host.told(id)).toEqual(['die']);
  });

  it('fails a message that the agent refuses, and goes on', async () => {
    const { pk } = await create();
    const refused = await runner.send(fixture.city, pk, 'refuse');
    const next = await runner.send(fixture.city, pk, 'hello');
    await fixture.untilMessage(refused.pk, 'failed');
    await fixture.untilMessage(next.pk, 'delivered');
  });

  it('sleeps half an hour when the agent is limited', async () => {
    const { pk } = await create();
    const refused = await runner.send(fixture.city, pk, 'limit');
    await fixture.untilMessage(refused.pk, 'failed');
    const row = await fixture.until(pk, 'asleep');
    expect(row).toMatchObject({ reason: 'rate_limit', crashes: [] });
    expect(row.not_before!.getTime()).toBeGreaterThan(Date.now() + 29 * 60_000);
  });

  it('ends quietly when the agent does', async () => {
    const { pk } = await create();
    await fixture.until(pk, 'active');
    fixture.host.alive[0]!.die({ code: 0, signal: null, cause: 'clean', stderrTail: '' });
    expect(await fixture.until(pk, 'asleep')).toMatchObject({ reason: 'exited', wake_request: null });
  });

  it('goes on with a new conversation when the old one is rejected, and says so', async () => {
    const { pk } = await create();
    await fixture.until(pk, 'active');
    await runner.patch(fixture.city, pk, { stop_request: 'sleep' });
    await fixture.until(pk, 'asleep');
    fixture.host.refuse = (spec) => (spec.resume === undefined ? undefined : 'resume_rejected');
    await runner.patch(fixture.city, pk, { wake_request: 'explicit', wake_requested_at: new Date() });
    const row = await fixture.when(pk, ({ generation, live }) => generation === 2 && live);
    expect(row).toMatchObject({ epoch: 2, session_key: 'conversation-3' });
    expect(await fixture.transcript(pk)).toEqual([expect.stringMatching(/^compaction: /)]);
  });

  it('tries a failing start again with pauses, five times', async () => {
    fixture.host.refuse = () => new StartError('died', 'start: API_KEY=hunter2', '+ API_KEY=hunter2\nthe last words');
    const { pk } = await create();
    for (let n = 1; n < 5; n++) {
      await fixture.when(pk, (row) => row.failed_starts === n && row.state === 'asleep');
      await fixture.unpause(pk);
    }
    const row = await fixture.until(pk, 'failed-create');
    expect(row).toMatchObject({ failed_starts: 5, generation: 5, runner_id: null });
    // Guard: everybody of the city sees what a script that starts sessions has written.
    const shown = `+ API_KEY=${MASK}\nthe last words`;
    expect(row.stderr_tail).toBe(shown);
    const told = (await fixture.events('session.start_failed')).map(({ message }) => message);
    expect(told).toEqual(Array(5).fill(`start: API_KEY=${MASK}:\n${shown}`));
  });

  it.each([
    ['not_found', 'failed-create'],
    ['auth_required', 'auth-required'],
    ['unsupported', 'failed-create'],
  ] as const)('does not try again after %s', async (failure, reason) => {
    fixture.host.refuse = () => failure;
    const { pk } = await create();
    expect(await fixture.until(pk, 'failed-create')).toMatchObject({ reason, generation: 1 });
  });

  it('gives a start up that is not wanted any more', async () => {
    fixture.host.gate = () => new Promise(() => undefined);
    const { pk } = await create();
    await eventually(() => fixture.host.alive.length === 1);
    await runner.patch(fixture.city, pk, { stop_request: 'close' });
    await fixture.until(pk, 'closed');
    expect(fixture.host.alive).toEqual([]);
  });

  it.each([
    ['does not die', undefined],
    ['cannot be looked for', new Error('EMFILE: too many open files')],
  ])('keeps a session whose process %s, says so, and lets nobody start it', async (_, fault) => {
    const { pk } = await create();
    await fixture.until(pk, 'active');
    fixture.host.immortal = true;
    fixture.host.fault = fault;
    await runner.patch(fixture.city, pk, { stop_request: 'sleep' });
    const stuck = await fixture.when(pk, (row) => row.reason === 'unconfirmed-dead');
    expect(stuck).toMatchObject({ state: 'active', runner_id: runner.runner.runnerId, stop_request: 'sleep' });
    await runner.patch(fixture.city, pk, { wake_request: 'explicit', wake_requested_at: new Date() });
    await runner.runner.look();
    const tried = fixture.host.inVain;
    await eventually(() => fixture.host.inVain > tried + 3);
    expect((await fixture.row(pk)).generation).toBe(1);
    fixture.host.immortal = false;
    await fixture.when(pk, (row) => row.generation === 2 && row.live);
    expect(fixture.host.alive).toHaveLength(1);
  });

  it('wakes for a message that came with a wish to sleep', async () => {
    const { pk } = await create();
    await fixture.until(pk, 'active');
    const sent = await runner.sessions.runInAnyState(fixture.city, 'test', async (changes) => {
      const row = await changes.patch((await changes.lock(pk))!, { stop_request: 'sleep' });
      const { rows } = await sql<{ pk: number }>`
        insert into session_messages (stream_id, session_pk, id, intent, body, source, sender)
        values (${fixture.city.streamId}, ${row.pk}, 'msg-late', 'default', 'hello', 'nudge', 'test') returning pk`.execute(changes.tx);
      return rows[0]!.pk;
    });
    await fixture.untilMessage(sent, 'delivered');
    expect(await fixture.row(pk)).toMatchObject({ generation: 2 });
  });
});

/** Gives the first process of a session a command, and waits until it is done. */
async function command(pk: number, kind: string, body: object = {}): Promise<void> {
  const { rows } = await sql<{ pk: number }>`
    insert into session_commands (session_pk, generation, kind, body) values (${pk}, 1, ${kind}, ${JSON.stringify(body)}) returning pk`.execute(
    fixture.db,
  );
  await eventually(async () => (await statusOf(rows[0]!.pk)) === 'done');
}

async function statusOf(pk: number): Promise<string> {
  return (await sql<{ status: string }>`select status from session_commands where pk = ${pk}`.execute(fixture.db)).rows[0]!.status;
}

async function question(pk: number): Promise<{ status: string; applied: boolean } | undefined> {
  return (
    await sql<{ status: string; applied: boolean }>`select status, applied from session_interactions where session_pk = ${pk}`.execute(
      fixture.db,
    )
  ).rows[0];
}
