import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { eventually } from '../../../../test/support/sse.js';
import type { Tx } from '../../../platform/database/transactions.js';
import { Clock } from '../../../platform/time/clock.js';
import type { SessionRow } from '../../sessions/session-store/session-row.js';
import { Fenced, OwnedSession } from './owned-session.js';
import { RunnerLease } from './runner-lease.js';
import { RunnerTimings } from './runner-timings.js';
import { SessionExits } from './session-exits.js';
import type { RunnerProcess } from './testing/runner-process.js';
import { RunnerFixture } from './testing/runner-fixture.js';

let fixture: RunnerFixture;
let a: RunnerProcess;

beforeEach(async () => {
  fixture = await RunnerFixture.open();
  a = await fixture.runner('a', { timings: { pollMs: 60_000 } });
});
afterEach(() => fixture.close());

/** The session goes to somebody else while `meanwhile` waits for its row. */
async function takenAwayDuring<T>(row: SessionRow, meanwhile: () => Promise<T>): Promise<T> {
  const writing = await fixture.db.transaction().execute(async (tx) => {
    await sql`select from sessions where pk = ${row.pk} for update`.execute(tx);
    const result = meanwhile();
    // It may be refused before this transaction's own end is known here.
    result.catch(() => undefined);
    await blocked(tx);
    await sql`update sessions set generation = generation + 1 where pk = ${row.pk}`.execute(tx);
    return { result };
  });
  return writing.result;
}

/** Asked by another connection: in a transaction the view stays as it was first read, without whoever connects after. */
async function blocked(tx: Tx | typeof fixture.db): Promise<void> {
  const pid = (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx)).rows[0]!.pid;
  await eventually(async () => {
    const { rows } = await sql`
      select from pg_stat_activity where datname = current_database() and ${pid}::int = any(pg_blocking_pids(pid))`.execute(fixture.db);
    return rows.length > 0;
  });
}

describe('what a process says of its session', () => {
  it('is not written when the session is taken away right before', async () => {
    const { pk } = await a.create(fixture.city);
    const row = await fixture.until(pk, 'active');
    const lease = new RunnerLease(row.runner_id!, new Clock(), new RunnerTimings(), performance.now());
    const owner = new OwnedSession(fixture.city, { pk, generation: 1, runnerId: row.runner_id! }, lease, a.sessions);
    let ran = false;
    const write = takenAwayDuring(row, () => owner.change(async () => void (ran = true)));
    await expect(write).rejects.toBeInstanceOf(Fenced);
    expect([ran, owner.held]).toEqual([false, false]);
  });

  it('is taken back when the lease ran out before the commit', async () => {
    const { pk } = await a.create(fixture.city);
    const row = await fixture.until(pk, 'active');
    const lease = new RunnerLease(row.runner_id!, new Clock(), new RunnerTimings(), performance.now());
    const owner = new OwnedSession(fixture.city, { pk, generation: 1, runnerId: row.runner_id! }, lease, a.sessions);
    const write = owner.change(async (changes, now) => {
      await changes.patch(now, { title: 'too late' });
      lease.lose();
    });
    await expect(write).rejects.toBeInstanceOf(Fenced);
    expect((await fixture.row(pk)).title).toBe('loopback');
  });

  it('is not settled when somebody else has it by then', async () => {
    const { pk } = await a.create(fixture.city);
    const row = await fixture.until(pk, 'active');
    const owned = { pk, generation: 1, runnerId: row.runner_id! };
    const settled = await takenAwayDuring(row, () =>
      a.get(SessionExits).settle(fixture.city, owned, { decide: () => ({ to: 'asleep', reason: 'crashed', set: {} }) }),
    );
    expect(settled).toBeUndefined();
    expect(await fixture.row(pk)).toMatchObject({ state: 'active', generation: 2, live: true });
  });
});

// Guards: what was told in a commit whose answer was lost is not told again.
it('tells once what a worker has done, and that a start is slow, also where the answer to the commit is lost', async () => {
  await a.stop();
  const b = await fixture.runner('b');
  fixture.host.silence = 'it has printed "name?" so far';
  const over = Promise.withResolvers<void>();
  fixture.host.gate = () => over.promise;
  const told = async (): Promise<unknown[]> => [
    ...(await fixture.events('session.start_slow')).map(() => 'slow'),
    ...(await fixture.events('worker.operation')).map(({ payload }) => payload.operation),
  ];
  let known = 0;
  let lost = 0;
  /** So many are lost whatever they tell. */
  let all = 0;
  b.failpoints.arm('tx.after_commit', async () => {
    const { length } = await told();
    if (length === known && all === 0) return;
    known = length;
    lost++;
    all = Math.max(0, all - 1);
    throw new Error('Connection terminated unexpectedly');
  });
  const { pk } = await b.create(fixture.city);
  await fixture.when(pk, ({ failure }) => failure !== null);
  over.resolve();
  await fixture.until(pk, 'active');
  const outside = await fixture.runner('outside', { capacity: 0, timings: { sweepMs: 60_000 } });
  await fixture.untilMessage((await outside.send(fixture.city, pk, 'one')).pk, 'delivered');
  await eventually(async () => (await told()).includes('message'));
  all = 5;
  await sql`insert into session_commands (session_pk, generation, kind) values (${pk}, 1, 'interrupt')`.execute(fixture.db);
  await eventually(async () => (await told()).includes('interrupt') && all === 0);
  // What is tried again has been by the time that the next message is through.
  await fixture.untilMessage((await outside.send(fixture.city, pk, 'two')).pk, 'delivered');
  await eventually(async () => (await told()).filter((what) => what === 'message').length === 2);
  expect(await told()).toEqual(['slow', 'start', 'message', 'interrupt', 'message']);
  expect(lost).toBeGreaterThan(2);
});

// Guard: what is answered is open no longer, so that it would be opened once more, and keep the session waiting for an answer to nothing.
it('asks once also where the answer to the commit is lost, and somebody has answered the question meanwhile', async () => {
  await a.stop();
  const b = await fixture.runner('b');
  const { pk } = await b.create(fixture.city);
  await fixture.until(pk, 'active');
  let lost = 0;
  b.failpoints.arm('tx.after_commit', async () => {
    const { rows } =
      await sql`update session_interactions set status = 'answered', action = 'yes', answer = '{}', closed_at = now(), closed_rev = 1000
      where session_pk = ${pk} and status = 'open' returning pk`.execute(fixture.db);
    if (rows.length === 0) return;
    lost++;
    throw new Error('Connection terminated unexpectedly');
  });
  const opened = Promise.withResolvers<void>();
  b.failpoints.arm('interaction.after_open', () => opened.resolve());
  const outside = await fixture.runner('outside', { capacity: 0, timings: { sweepMs: 60_000 } });
  await fixture.untilMessage((await outside.send(fixture.city, pk, 'ask')).pk, 'delivered');
  await Promise.race([opened.promise, eventually(() => Promise.resolve(lost > 1))]);
  await eventually(async () => (await fixture.activity(pk)) === 'idle');
  expect(lost).toBe(1);
  expect((await fixture.events('session.interaction.opened')).length).toBe(1);
  await fixture.untilMessage((await outside.send(fixture.city, pk, 'afterwards')).pk, 'delivered');
});

it('every commit may lose its answer: nothing is done twice, nothing is forgotten', async () => {
  const b = await fixture.runner('b');
  let n = 0;
  const lose = (): void => {
    if (n++ % 2 === 0) throw new Error('Connection terminated unexpectedly');
  };
  await a.stop();
  const { pk, id } = await b.create(fixture.city);
  await fixture.until(pk, 'active');
  b.failpoints.arm('tx.after_commit', lose);
  const outside = await fixture.runner('outside', { capacity: 0, timings: { sweepMs: 60_000 } });
  const first = await outside.send(fixture.city, pk, 'one');
  const second = await outside.send(fixture.city, pk, 'refuse');
  const third = await outside.send(fixture.city, pk, 'ask');
  await fixture.untilMessage(first.pk, 'delivered');
  await fixture.untilMessage(second.pk, 'failed');
  await fixture.untilMessage(third.pk, 'delivered');
  const open = async (): Promise<number> =>
    (await sql<{ n: number }>`select count(*)::int as n from session_interactions where session_pk = ${pk}`.execute(fixture.db)).rows[0]!.n;
  await eventually(async () => (await open()) === 1);
  await outside.patch(fixture.city, pk, { stop_request: 'reset' });
  await fixture.when(pk, ({ epoch, live }) => epoch === 2 && live);
  expect(n).toBeGreaterThan(10);
  expect(fixture.host.told(id)).toEqual(['one', 'refuse', 'ask']);
  expect(await open()).toBe(1);
  expect((await fixture.events('session.interaction.opened')).length).toBe(1);
  expect(
    (await fixture.events('session.stopped')).map(({ payload }) => payload.reason).filter((reason) => reason === 'reset'),
  ).toHaveLength(1);
  const { rows } = await sql`select turn, stop_reason from session_turns where session_pk = ${pk} order by turn`.execute(fixture.db);
  expect(rows).toMatchObject([{ stop_reason: 'end_turn' }, { stop_reason: 'failed' }, {}]);
});
