import { hostname } from 'node:os';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { eventually } from '../../../../test/support/sse.js';
import { Transactions, type Tx } from '../../../platform/database/transactions.js';
import type { Isolation } from '../../../platform/isolation/isolation.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import type { StartSpec } from '../../../platform/runtime/port.js';
import { bootId } from '../../../platform/runtime/process-table.js';
import { TranscriptLogService } from '../../sessions/transcripts/transcript-log.service.js';
import { FencingSweeper } from './fencing.sweeper.js';
import { OrphanReaper } from './orphan-reaper.js';
import { HostProcesses } from './ports.js';
import { RunnerRepository } from './runner.repository.js';
import type { RunnerTimings } from './runner-timings.js';
import type { SessionActor } from './session-actor.js';
import { SessionWorkRepository } from './session-work.repository.js';
import { FakeAgent } from './testing/fake-runtime.js';
import { RunnerFixture } from './testing/runner-fixture.js';
import { TEST_TIMINGS, type RunnerProcess } from './testing/runner-process.js';

let fixture: RunnerFixture;
let a: RunnerProcess;

const startA = async (): Promise<void> => {
  a = await fixture.runner('a');
};
beforeEach(async () => {
  fixture = await RunnerFixture.open();
});
afterEach(() => fixture.close());

/** Thinks for a minute that it has its lease, and hears of nothing. */
const FROZEN: Partial<RunnerTimings> = { leaseMs: 60_000, renewMs: 50_000, acceptMs: 55_000, holdMs: 58_000, pollMs: 60_000 };

const pause = (runner: RunnerProcess): Promise<void> => fixture.expire(runner.runner.runnerId!);

/** Nothing that a runner has begun for a session is still to come. */
const over = (runner: RunnerProcess, pk: number, generation: number): Promise<unknown> =>
  eventually(() => runner.runner.sessions.get(pk)?.generation !== generation);

const alive = (id: string): string[] => fixture.host.alive.filter(({ session }) => session === id).map(({ generation }) => generation);

describe('a start that goes on late', () => {
  beforeEach(startA);

  // Guard: its worker was paused, and another one has started the session again.
  it('ends what earlier ones have left, and nothing of a later one', async () => {
    const { pk, id } = await a.create(fixture.city);
    await fixture.until(pk, 'active');
    const env = { SVC_CITY: fixture.city.name, SVC_SESSION_ID: id, SVC_GENERATION: '9' };
    fixture.host.processes.push(new FakeAgent(fixture.host, 'b', { env } as unknown as StartSpec));
    const [first] = fixture.host.alive;
    first!.die({ code: 1, signal: null, cause: 'crashed', stderrTail: '' });
    await fixture.until(pk, 'asleep');
    await a.patch(fixture.city, pk, { wake_request: 'explicit' });
    await fixture.when(pk, ({ generation, live }) => generation === 2 && live);
    expect(alive(id)).toEqual(['9', '2']);
  });
});

describe('a runner that is gone', () => {
  beforeEach(startA);

  it.each(['idle', 'in a turn'])('loses its session to another, which goes on with the conversation: %s', async (how) => {
    const { pk, id } = await a.create(fixture.city);
    await fixture.until(pk, 'active');
    if (how !== 'idle') await fixture.untilMessage((await a.send(fixture.city, pk, 'hang')).pk, 'delivered');
    a.kill();
    const b = await fixture.runner('b');
    const row = await fixture.when(pk, ({ generation, live }) => generation === 2 && live);
    expect(row).toMatchObject({ runner_id: b.runner.runnerId, session_key: 'conversation-1', epoch: 1 });
    expect(alive(id)).toEqual(['2']);
    expect(await fixture.activity(pk)).toBe('idle');
    expect((await fixture.events('session.stopped')).map(({ payload }) => payload.reason)).toEqual(['runner-lost']);
    expect(await fixture.turns(pk)).toEqual(how === 'idle' ? [] : ['started 1 in-turn', 'ended 1 lost asleep']);
    const { rows } = await sql`select id, state from runners order by registered_at`.execute(fixture.db);
    expect(rows).toMatchObject([{ state: 'lost' }, { state: 'active' }]);
  });

  it('loses them by the time alone that its lease has', async () => {
    const { pk } = await a.create(fixture.city);
    await fixture.until(pk, 'active');
    a.kill({ noticed: false });
    await fixture.runner('b');
    // As if so much time had passed.
    await sql`update runners set lease_until = lease_until - ${TEST_TIMINGS.leaseMs! / 1000}::float8 * interval '1 s'
      where id = ${(await fixture.row(pk)).runner_id}`.execute(fixture.db);
    await fixture.when(pk, ({ generation, live }) => generation === 2 && live);
  });

  it('loses one that it was starting', async () => {
    let open = (): void => undefined;
    fixture.host.gate = (spec) => (spec.env.SVC_GENERATION === '1' ? new Promise<void>((resolve) => (open = resolve)) : undefined);
    const { pk, id } = await a.create(fixture.city);
    await eventually(() => fixture.host.alive.length === 1);
    a.kill();
    await fixture.runner('b');
    await fixture.when(pk, ({ generation, live }) => generation === 2 && live);
    open();
    await a.end();
    expect(alive(id)).toEqual(['2']);
    expect(await fixture.row(pk)).toMatchObject({ generation: 2, live: true, session_key: 'conversation-2' });
  });

  it('is counted with others that its session has lost, until that finishes a turn', async () => {
    const { pk } = await a.create(fixture.city);
    await fixture.until(pk, 'active');
    await sql`update sessions set losses = array[now(), now()] where pk = ${pk}`.execute(fixture.db);
    const killed = a.killAt('message.after_prompt');
    await a.send(fixture.city, pk, 'what takes it down');
    await killed;
    const b = await fixture.runner('b');
    const row = await fixture.when(pk, ({ not_before }) => not_before !== null);
    expect(row).toMatchObject({ state: 'asleep', wake_request: 'failover', failure: expect.stringContaining('lost 3 times in a row') });
    expect(row.losses).toHaveLength(3);
    await fixture.unpause(pk);
    await fixture.until(pk, 'active');
    await b.send(fixture.city, pk, 'hello');
    await fixture.when(pk, ({ losses }) => losses === null);
  });

  it.each([
    ['close', 'closed', null],
    ['kill', 'asleep', null],
    ['reset', 'asleep', 'reset'],
    ['drain', 'asleep', null],
  ] as const)('has what it was asked for done without it: %s', async (stop_request, state, wake_request) => {
    const { pk } = await a.create(fixture.city);
    await fixture.until(pk, 'active');
    const given = a.runner.runnerId!;
    a.kill({ noticed: false });
    // Nobody takes sessions here: what the fencing alone does is seen.
    const b = await fixture.runner('b', { capacity: 0 });
    await b.patch(fixture.city, pk, { stop_request });
    await fixture.giveUp(given);
    const row = await fixture.until(pk, state);
    expect(row).toMatchObject({ runner_id: null, live: false, stop_request: null, wake_request });
  });

  it('leaves a message unconfirmed that it was delivering, and others in the queue', async () => {
    const { pk, id } = await a.create(fixture.city);
    await fixture.until(pk, 'active');
    const killed = a.killAt('message.after_prompt');
    const first = await a.send(fixture.city, pk, 'first');
    await killed;
    await fixture.runner('b').then((b) => b.send(fixture.city, pk, 'second'));
    await fixture.untilMessage(first.pk, 'unconfirmed');
    await eventually(() => fixture.host.told(id).length === 2);
    expect(fixture.host.told(id)).toEqual(['first', 'second']);
  });

  it('is given up by one of two sweepers, and each of its sessions is settled once', async () => {
    const made = await Promise.all(Array.from({ length: 8 }, () => a.create(fixture.city)));
    for (const { pk } of made) await fixture.until(pk, 'active');
    a.kill({ noticed: false });
    const watching = await Promise.all([fixture.runner('b', { capacity: 0 }), fixture.runner('c', { capacity: 0 })]);
    await sql`update runners set lease_until = now() - interval '1 s'`.execute(fixture.db);
    await Promise.all(watching.flatMap((one) => [one.get(FencingSweeper).sweep(), one.get(FencingSweeper).sweep()]));
    for (const { pk } of made) await fixture.until(pk, 'asleep');
    const stopped = (await fixture.events('session.stopped')).map(({ subject }) => subject);
    expect(stopped.sort()).toEqual(made.map(({ id }) => id).sort());
  });
});

describe('a runner whose lease has run out', () => {
  // Guard: a runner is given up only when its lease has run out.
  it('is given up alone: who has his lease stays', async () => {
    // Rows without a process: one that renews, or that looks for ended leases by itself, could have the row locked, and this look pass it by.
    const repository = new RunnerRepository();
    const limits = { memory: 'none', processes: 'none', cpu: 'none', files: 'none' } as const;
    const machine = { host: 'elsewhere', boot: null, processId: 'p1', capacity: 1, isolation: 'none', limits } as const;
    const { rows } = await fixture.db.transaction().execute(async (tx) => {
      await repository.register(tx as Tx, { ...machine, id: 'rn_gone' }, -1_000);
      await repository.register(tx as Tx, { ...machine, id: 'rn_stays' }, 60_000);
      expect(await repository.loseExpired(tx as Tx)).toEqual(['rn_gone']);
      return sql<{ state: string }>`select state from runners where id like 'rn_%' order by id`.execute(tx);
    });
    expect(rows.map(({ state }) => state)).toEqual(['lost', 'active']);
  });
});

describe('a runner that was paused', () => {
  let frozen: RunnerProcess;
  beforeEach(async () => {
    frozen = await fixture.runner('frozen', { timings: FROZEN });
  });

  it('writes nothing once its session is taken, and ends its process', async () => {
    const { pk, id } = await frozen.create(fixture.city);
    const message = await frozen.send(fixture.city, pk, 'hang');
    await fixture.untilMessage(message.pk, 'delivered');
    const old = fixture.host.alive[0]!;
    const b = await fixture.runner('b', { capacity: 0 });
    await pause(frozen);
    await fixture.until(pk, 'asleep');
    expect(b.runner.runnerId).toBeUndefined();
    old.say('I am still here');
    old.release();
    await eventually(() => !old.alive);
    expect(await fixture.row(pk)).toMatchObject({ state: 'asleep', reason: 'runner-lost', last_turn_at: null, runner_id: null });
    expect((await fixture.transcript(pk)).join()).not.toContain('still here');
    expect(alive(id)).toEqual([]);
    // What it believes of its turn ends no other turn, and that one not again.
    expect(await fixture.turns(pk)).toEqual(['started 1 in-turn', 'ended 1 lost asleep']);
  });

  // Guard: what cannot be said of a process keeps nobody from ending it.
  it('ends a process that does not die at first, though it may not say so any more', async () => {
    const { pk } = await frozen.create(fixture.city);
    await fixture.until(pk, 'active');
    const [process] = fixture.host.alive;
    await sql`update sessions set generation = 2 where pk = ${pk}`.execute(fixture.db);
    fixture.host.immortal = true;
    const none = { queued: false, interrupting: null, answers: [], commands: [] };
    (frozen.runner.sessions.get(pk) as SessionActor).deliver({ pk, generation: 1, stop: 'kill', overdue: false, ...none });
    await eventually(() => fixture.host.inVain > 3);
    fixture.host.immortal = false;
    await eventually(() => !process!.alive);
    await over(frozen, pk, 1);
  });

  it('learns that it is given up, and registers anew', async () => {
    const b = await fixture.runner('b');
    const before = b.runner.runnerId;
    await sql`update runners set state = 'lost' where id = ${before!}`.execute(fixture.db);
    await eventually(() => b.runner.runnerId !== undefined && b.runner.runnerId !== before);
  });

  it('ends everything by its own clock when the database does not answer', async () => {
    const { pk } = await frozen.create(fixture.city);
    await fixture.until(pk, 'active');
    const [process] = fixture.host.alive;
    const lease = frozen.runner.runnerId;
    frozen.clock.skipMs += 60_000;
    process!.say('too late');
    await eventually(() => !process!.alive);
    await eventually(() => frozen.runner.runnerId !== lease);
    expect((await fixture.transcript(pk)).join()).not.toContain('too late');
  });

  it.each([
    ['a prompt', 'message.after_in_flight', 'unconfirmed', []],
    ['a delivery', 'message.after_prompt', 'unconfirmed', ['told']],
  ] as const)('does not go on with %s that it had begun', async (_, failpoint, status, told) => {
    const { pk, id } = await frozen.create(fixture.city);
    await fixture.until(pk, 'active');
    let go = (): void => undefined;
    let held = false;
    frozen.failpoints.arm(failpoint, () => {
      if (held) return;
      held = true;
      return new Promise<void>((resolve) => (go = resolve));
    });
    const message = await frozen.send(fixture.city, pk, 'told');
    await eventually(() => held);
    await fixture.runner('b');
    await pause(frozen);
    await fixture.untilMessage(message.pk, status);
    frozen.clock.skipMs += 60_000;
    go();
    await fixture.when(pk, ({ generation, live }) => generation === 2 && live);
    await over(frozen, pk, 1);
    expect(fixture.host.told(id)).toEqual(told);
    expect((await fixture.message(message.pk)).status).toBe(status);
    expect(await fixture.turns(pk)).toEqual(['started 1 in-turn', 'ended 1 lost asleep']);
  });

  it('does not record the end of a process that is somebody else’s by then', async () => {
    const { pk } = await frozen.create(fixture.city);
    await fixture.until(pk, 'active');
    let go = (): void => undefined;
    let held = false;
    frozen.failpoints.arm('runner.before_exit_recorded', () => {
      if (held) return;
      held = true;
      return new Promise<void>((resolve) => (go = resolve));
    });
    fixture.host.alive[0]!.die({ code: 1, signal: null, cause: 'crashed', stderrTail: '' });
    await eventually(() => held);
    await fixture.runner('b');
    await pause(frozen);
    await fixture.when(pk, ({ generation, live }) => generation === 2 && live);
    go();
    await over(frozen, pk, 1);
    expect(await fixture.row(pk)).toMatchObject({ generation: 2, live: true, crashes: [] });
    expect(await fixture.events('session.crashed')).toEqual([]);
  });

  it('does not make ready what somebody else is starting by then', async () => {
    const gates = new Map<string, () => void>();
    fixture.host.gate = ({ env }) => new Promise<void>((resolve) => gates.set(env.SVC_GENERATION!, resolve));
    const { pk } = await frozen.create(fixture.city);
    await eventually(() => gates.has('1'));
    await fixture.runner('b');
    await pause(frozen);
    await eventually(() => gates.has('2'));
    gates.get('1')!();
    await eventually(() => fixture.host.processes[0]!.alive === false);
    await over(frozen, pk, 1);
    expect(await fixture.row(pk)).toMatchObject({ state: 'creating', generation: 2, live: false, session_key: null });
    gates.get('2')!();
    expect(await fixture.until(pk, 'active')).toMatchObject({ generation: 2, session_key: 'conversation-2' });
  });

  it('is not lost, and keeps its processes, until somebody gives it up', async () => {
    await frozen.stop();
    const late = await fixture.runner('late', { timings: { ...FROZEN, sweepMs: 60_000 } });
    const { pk, id } = await late.create(fixture.city);
    await fixture.until(pk, 'active');
    const b = await fixture.runner('b', { timings: { sweepMs: 60_000 } });
    await pause(late);
    expect(await b.get(OrphanReaper).end({ host: hostname(), boot: null })).toBe(0);
    expect(alive(id)).toEqual(['1']);
    expect(await fixture.row(pk)).toMatchObject({ state: 'active', generation: 1 });
    await b.get(FencingSweeper).sweep();
    expect(await fixture.when(pk, ({ live, generation }) => live && generation === 2)).toMatchObject({ crashes: [] });
    expect(alive(id)).toEqual(['2']);
  });

  it('is refused by the log itself, whatever it believes', async () => {
    const { pk } = await frozen.create(fixture.city);
    const row = await fixture.until(pk, 'active');
    const write = { sessionPk: pk, generation: row.generation, epoch: 1 };
    const said = (entryId: string) => ({ entryId, kind: 'message', role: 'assistant', status: 'final', blocks: [], turn: 1 }) as const;
    const log = frozen.get(TranscriptLogService);
    expect(await log.append({ ...write, entries: [said('x1')] })).toEqual({ head: expect.any(Number) });
    await fixture.runner('b');
    await pause(frozen);
    await fixture.when(pk, ({ generation }) => generation === 2);
    expect(await log.append({ ...write, entries: [said('x2')] })).toBe('fenced');
    // The twin without the guard would take it: the same entry under the generation of now is taken.
    await fixture.when(pk, ({ live }) => live);
    expect(await log.append({ ...write, generation: 2, entries: [said('x3')] })).toEqual({ head: expect.any(Number) });
  });
});

describe('leftovers', () => {
  beforeEach(startA);

  it.each(['it is claimed', 'its next runner has registered'])(
    'are ended before their session is started again, and others wait for none of it: once %s',
    async (when) => {
      const waits = { reason: 'unconfirmed-dead', generation: 2 };
      const { pk, id } = await a.create(fixture.city);
      await fixture.until(pk, 'active');
      const early = when === 'it is claimed' ? await fixture.runner('b') : undefined;
      // It takes what is wanted: it has looked for leftovers, and found none.
      if (early !== undefined)
        expect(await fixture.until((await a.create(fixture.city)).pk, 'active')).toMatchObject({ runner_id: early.runner.runnerId });
      fixture.host.immortal = true;
      a.kill();
      if (early === undefined) {
        await fixture.runner('sweeps', { capacity: 0 });
        await fixture.until(pk, 'asleep');
      }
      const b = early ?? (await fixture.runner('b'));
      await fixture.when(pk, ({ reason }) => reason === waits.reason);
      const tried = fixture.host.inVain;
      await eventually(() => fixture.host.inVain > tried + 3);
      expect(alive(id)).toEqual(['1']);
      expect(await fixture.row(pk)).toMatchObject({ ...waits, live: false });
      expect(await fixture.until((await b.create(fixture.city)).pk, 'active')).toMatchObject({ runner_id: b.runner.runnerId });
      fixture.host.immortal = false;
      await fixture.unpause(pk);
      await fixture.when(pk, ({ live, runner_id }) => live && runner_id === b.runner.runnerId);
      expect(alive(id)).toHaveLength(1);
      expect(alive(id)).not.toEqual(['1']);
    },
  );

  it('of nobody are ended when a runner registers, and those of live runners are left alone', async () => {
    const { pk, id } = await a.create(fixture.city);
    await fixture.until(pk, 'active');
    const spec = {
      command: 'x',
      args: [],
      cwd: '/',
      timeoutMs: 1,
      env: { SVC_SESSION_ID: 'al-999', SVC_CITY: 'alpha', SVC_GENERATION: '7' },
    };
    const stray = await fixture.host.runtimes('gone').of('acp')!.start(spec, new AbortController().signal);
    expect(alive('al-999')).toEqual(['7']);
    await fixture.runner('b');
    await eventually(() => alive('al-999').length === 0);
    expect(alive(id)).toEqual(['1']);
    expect(stray).toBeDefined();
  });

  // Guard: each worker would end what it asks, and what its neighbours ask, every ten seconds.
  it('are not what a process which is alive asks of a city', async () => {
    await sql`insert into processes (id, role, hostname, version, heartbeat_at, stopped_at) values
      ('alive', 'worker', 'h', '1', now() + interval '1 hour', null), ('dead', 'worker', 'h', '1', now() - interval '11 seconds', null),
      ('stopped', 'worker', 'h', '1', now(), now())`.execute(fixture.db);
    const asking = ['alive', 'dead', 'stopped', 'unknown'];
    for (const [n, process] of asking.entries()) {
      const id = `0000000${n}-0000-4000-8000-000000000000`;
      const env = { SVC_SESSION_ID: '', SVC_CITY: 'alpha', SVC_GENERATION: `scale-${id}@${process}.1` };
      const spec = { command: 'x', args: [], cwd: '/', timeoutMs: 1, env };
      await fixture.host.runtimes('asks').of('acp')!.start(spec, new AbortController().signal);
    }
    expect(alive('')).toHaveLength(4);
    expect(await a.get(OrphanReaper).end({ host: hostname(), boot: null })).toBe(3);
    expect(alive('')).toEqual([expect.stringContaining('@alive.1')]);
  });

  it('are not what a live runner has that registered before the host was renamed', async () => {
    const { pk, id } = await a.create(fixture.city);
    await fixture.until(pk, 'active');
    const { rows } = await sql`select boot from runners`.execute(fixture.db);
    expect(rows).toEqual([{ boot: bootId() === '' ? null : bootId() }]);
    await sql`update runners set host = 'before', boot = 'b1'`.execute(fixture.db);
    const b = await fixture.runner('b');
    expect(await b.get(OrphanReaper).end({ host: 'after', boot: 'b2' })).toBe(0);
    const ended: number[] = [];
    const users = { running: async () => new Set([pk]), endSession: async (session: number) => void ended.push(session) };
    const isolation = { found: async () => ({ users }) } as unknown as Isolation;
    const at = <T>(type: abstract new (...args: never[]) => T): T => b.get(type as never);
    const reaper = new OrphanReaper(
      ...([fixture.db, at(HostProcesses), at(SessionWorkRepository), isolation, at(Transactions), at(AppLogger)] as const),
    );
    for (const boot of ['b1', null]) await reaper.end({ host: 'before', boot });
    await reaper.end({ host: 'after', boot: 'b1' });
    expect(ended).toEqual([]);
    // Somewhere else it has left something, whatever that says of itself: anybody can say what a process has that is held.
    expect(alive(id)).toEqual(['1']);
    await reaper.end({ host: 'after', boot: 'b2' });
    expect(ended).toEqual([pk]);
    await sql`update runners set boot = null where host = 'before'`.execute(fixture.db);
    await reaper.end({ host: 'after', boot: null });
    expect([ended, alive(id)]).toEqual([[pk, pk], ['1']]);
  });

  it('of a runner that is lost later are ended, though nobody starts its session again', async () => {
    const { pk, id } = await a.create(fixture.city);
    await fixture.until(pk, 'active');
    const b = await fixture.runner('b');
    const given = a.runner.runnerId!;
    a.kill({ noticed: false });
    await b.patch(fixture.city, pk, { stop_request: 'close' });
    await fixture.giveUp(given);
    await fixture.until(pk, 'closed');
    await eventually(() => alive(id).length === 0);
  });
});
