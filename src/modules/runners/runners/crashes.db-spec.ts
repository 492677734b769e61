import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { eventually } from '../../../../test/support/sse.js';
import type { FailpointName } from '../../../platform/failpoints/failpoints.js';
import { RunnerFixture } from './testing/runner-fixture.js';
import type { RunnerProcess } from './testing/runner-process.js';

/** A runner is killed at every place where that could hurt; another one goes on. */
let fixture: RunnerFixture;
let a: RunnerProcess;

beforeEach(async () => {
  fixture = await RunnerFixture.open();
  a = await fixture.runner('a');
});
afterEach(() => fixture.close());

async function operations(pk: number): Promise<string[]> {
  const { rows } = await sql<{ status: string }>`select status from session_messages where session_pk = ${pk} order by pk`.execute(
    fixture.db,
  );
  return rows.map(({ status }) => status);
}

describe('a message is given to a process at most once', () => {
  it.each<[FailpointName, string, number]>([
    ['runner.after_claim', 'delivered', 1],
    ['runner.before_spawn', 'delivered', 1],
    ['runner.after_ready', 'delivered', 1],
    ['message.after_in_flight', 'unconfirmed', 0],
    ['message.after_prompt', 'unconfirmed', 1],
    ['message.after_delivered', 'delivered', 1],
  ])('killed at %s', async (failpoint, status, times) => {
    const killed = a.killAt(failpoint);
    const { pk, id } = await a.create(fixture.city, { wake_request: undefined as never });
    const message = await a.send(fixture.city, pk, 'only once');
    await killed;
    const b = await fixture.runner('b');
    await fixture.untilMessage(message.pk, status);
    // What follows is delivered, whatever became of it, and only after that.
    const next = await b.send(fixture.city, pk, 'the next one');
    await fixture.untilMessage(next.pk, 'delivered');
    expect(fixture.host.told(id).filter((text) => text === 'only once')).toHaveLength(times);
    expect(fixture.host.told(id).at(-1)).toBe('the next one');
    expect(await operations(pk)).toEqual([status, 'delivered']);
    expect(fixture.host.alive.filter(({ session }) => session === id)).toHaveLength(1);
    expect(await fixture.row(pk)).toMatchObject({ state: 'active', live: true, generation: 2, runner_id: b.runner.runnerId });
  });
});

it('killed before it recorded an exit, another one records that the runner is lost', async () => {
  const { pk } = await a.create(fixture.city);
  await fixture.until(pk, 'active');
  const killed = a.killAt('runner.before_exit_recorded');
  await a.patch(fixture.city, pk, { stop_request: 'close' });
  await killed;
  expect((await fixture.row(pk)).state).toBe('active');
  await fixture.runner('b', { capacity: 0 });
  expect(await fixture.until(pk, 'closed')).toMatchObject({ close_code: 'operator', runner_id: null });
});

it('killed after a question was put, the question is cancelled and nobody answers it', async () => {
  const { pk } = await a.create(fixture.city);
  await fixture.until(pk, 'active');
  const killed = a.killAt('interaction.after_open');
  await a.send(fixture.city, pk, 'ask');
  await killed;
  await fixture.runner('b');
  await fixture.when(pk, ({ generation, live }) => generation === 2 && live);
  const { rows } = await sql`select status, generation from session_interactions where session_pk = ${pk}`.execute(fixture.db);
  expect(rows).toEqual([{ status: 'cancelled', generation: 1 }]);
  expect(fixture.host.processes.flatMap(({ answers }) => answers)).toEqual([]);
});

describe('the database', () => {
  it('may lose every connection: what was begun goes on, once', async () => {
    const { pk, id } = await a.create(fixture.city);
    await fixture.until(pk, 'active');
    const began = performance.now();
    await a.send(fixture.city, pk, 'message 0');
    // Long enough for some to come through, on however slow a machine.
    let pauseMs = Math.max(60, 4 * (performance.now() - began));
    let cutting = true;
    const cut = (async () => {
      while (cutting) {
        await sql`select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and application_name = 'a'`.execute(fixture.db);
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    })();
    for (let n = 1; n < 8; n++) {
      for (;;) {
        const message = await a.send(fixture.city, pk, `message ${n}`, { reference: `m${n}` }).catch(() => undefined);
        if (message !== undefined) break;
        pauseMs *= 1.5;
        const { rows } = await sql`select from session_messages where reference = ${`m${n}`}`.execute(fixture.db);
        if (rows.length > 0) break;
      }
      await new Promise((resolve) => setTimeout(resolve, 40));
    }
    cutting = false;
    await cut;
    await eventually(async () => (await operations(pk)).every((status) => status === 'delivered'));
    expect(fixture.host.told(id)).toEqual([...Array(8).keys()].map((n) => `message ${n}`));
    await eventually(async () => (await fixture.activity(pk)) === 'idle');
    expect(await fixture.row(pk)).toMatchObject({ generation: 1, live: true });
    const transcript = await fixture.transcript(pk);
    expect(transcript).toEqual([...Array(8).keys()].flatMap((n) => [`user: message ${n}`, `assistant: echo: message ${n}`]));
  });
});

describe('an orderly stop', () => {
  it('hands idle sessions over at once, and those in a turn after it', async () => {
    const idle = await a.create(fixture.city);
    const busy = await a.create(fixture.city);
    await fixture.until(idle.pk, 'active');
    const message = await a.send(fixture.city, busy.pk, 'slow');
    await fixture.untilMessage(message.pk, 'delivered');
    const b = await fixture.runner('b');
    const stopping = a.stop();
    await fixture.when(idle.pk, ({ runner_id, live }) => live && runner_id === b.runner.runnerId);
    expect((await fixture.row(busy.pk)).generation).toBe(1);
    fixture.host.processes.find(({ session, generation }) => session === busy.id && generation === '1')!.release();
    await stopping;
    const row = await fixture.when(busy.pk, ({ runner_id, live }) => live && runner_id === b.runner.runnerId);
    expect(row).toMatchObject({ generation: 2, session_key: expect.any(String), crashes: [] });
    expect(fixture.host.processes.filter(({ session }) => session === busy.id).map(({ continued }) => continued)).toEqual([
      'new',
      'resumed',
    ]);
    expect((await fixture.events('session.stopped')).map(({ payload }) => payload.reason)).toEqual(['handover', 'handover']);
    const { rows } = await sql`select state from runners order by registered_at`.execute(fixture.db);
    expect(rows).toEqual([{ state: 'stopped' }, { state: 'active' }]);
  });

  it('cuts a turn that does not end in time', async () => {
    const { pk } = await a.create(fixture.city);
    const message = await a.send(fixture.city, pk, 'hang');
    await fixture.untilMessage(message.pk, 'delivered');
    a.time({ handoverMs: 50 });
    await a.stop();
    expect(await fixture.row(pk)).toMatchObject({ state: 'asleep', reason: 'handover', wake_request: 'handover', runner_id: null });
    // `svc why` tells by these two that a turn was cut off.
    const told = (await fixture.events()).filter(({ type }) => type === 'session.turn.ended' || type === 'session.stopped');
    expect(told.map(({ payload }) => payload.stop_reason ?? payload.reason)).toEqual(['cancelled', 'handover']);
    expect(fixture.host.alive).toEqual([]);
  });

  it('calls starts off', async () => {
    fixture.host.gate = () => new Promise(() => undefined);
    const { pk } = await a.create(fixture.city);
    await eventually(() => fixture.host.alive.length === 1);
    await a.stop();
    expect(await fixture.row(pk)).toMatchObject({ state: 'asleep', wake_request: 'create', failed_starts: 0, runner_id: null });
    expect(fixture.host.alive).toEqual([]);
  });
});
