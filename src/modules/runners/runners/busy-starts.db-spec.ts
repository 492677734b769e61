import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { sql } from 'kysely';
import { HostBusy, StartError, UnconfirmedDead } from '../../../platform/runtime/port.js';
import { HostProcesses } from './ports.js';
import { RunnerFixture } from './testing/runner-fixture.js';
import type { RunnerProcess } from './testing/runner-process.js';

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

describe('a start before which nobody can say what is left of the one before', () => {
  let a: RunnerProcess;
  let pk: number;
  let unseen: UnconfirmedDead | undefined;

  beforeEach(async () => {
    without = 1;
    unseen = undefined;
    a = await fixture.runner('a', { timings: { shortMs: 20, startsAtOnce: 1 } });
    const processes = a.get<HostProcesses>(HostProcesses as Type<HostProcesses>);
    const end = processes.end.bind(processes);
    jest.spyOn(processes, 'end').mockImplementation((...what) => (unseen === undefined ? end(...what) : Promise.reject(unseen)));
    ({ pk } = await a.create(fixture.city));
    await fixture.when(pk, ({ not_before }) => not_before !== null);
  });

  const isUnconfirmed = async (): Promise<void> => {
    await fixture.unpause(pk);
    await fixture.when(pk, ({ reason }) => reason === 'unconfirmed-dead');
  };

  // Guard: a start before which the host cannot even look is put off.
  it('is put off where its host has no file to look with, and others go to other hosts meanwhile', async () => {
    a.time({ shortMs: 60_000 });
    unseen = new UnconfirmedDead('nobody can see what is left: EMFILE', { cause });
    await isUnconfirmed();
    const b = await fixture.runner('b', { timings: { overdueMs: 0 } });
    const other = await a.create(fixture.city);
    expect(await fixture.until(other.pk, 'active')).toMatchObject({ runner_id: b.runner.runnerId });
    unseen = undefined;
    const put = await fixture.when(pk, ({ not_before }) => not_before !== null);
    expect(put).toMatchObject({ state: 'asleep', generation: 2, failed_starts: 0, failure: expect.stringMatching('EMFILE') });
    await fixture.unpause(pk);
    expect(await fixture.until(pk, 'active')).toMatchObject({ runner_id: b.runner.runnerId, failed_starts: 0 });
    const told = await fixture.events('session.start_failed');
    expect(told.map(({ payload }) => 'attempt' in payload)).toEqual([false, false]);
  });

  // Guard: a session that waits for the end of its process before takes no place of a start.
  it('takes no place of other starts, and has failed once nothing is left', async () => {
    unseen = new UnconfirmedDead('processes are still there after SIGKILL: 7');
    await isUnconfirmed();
    expect(a.runner.sessions.get(pk)).toMatchObject({ starting: false });
    const other = await a.create(fixture.city);
    await fixture.until(other.pk, 'active');
    expect(await fixture.row(pk)).toMatchObject({ reason: 'unconfirmed-dead', generation: 2 });
    unseen = undefined;
    await fixture.when(pk, ({ failed_starts }) => failed_starts === 1);
  });

  it('has its runner take others one by one where there are many of them', async () => {
    a.time({ startsAtOnce: 2 });
    without = 2;
    const more = [await a.create(fixture.city), await a.create(fixture.city)];
    for (const one of more) await fixture.when(one.pk, ({ not_before }) => not_before !== null);
    unseen = new UnconfirmedDead('processes are still there after SIGKILL: 7');
    await isUnconfirmed();
    for (const one of more) {
      await fixture.unpause(one.pk);
      await fixture.when(one.pk, ({ reason }) => reason === 'unconfirmed-dead');
    }
    const claim = jest.spyOn(a.runner['claims'], 'claim');
    const others = [await a.create(fixture.city), await a.create(fixture.city)];
    for (const other of others) await fixture.until(other.pk, 'active');
    expect(new Set(claim.mock.calls.map(([, room]) => room))).toEqual(new Set([1]));
    unseen = undefined;
    for (const one of more) await fixture.until(one.pk, 'active');
  });
});
