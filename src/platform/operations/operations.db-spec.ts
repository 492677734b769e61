import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { z } from 'zod';
import { cloneDatabase, type TestDatabase } from '../../../test/support/database.js';
import { DEEP } from '../../../test/support/depth.js';
import { OperationProcess } from '../../../test/support/operation-process.js';
import { startRedis, type RedisServer } from '../../../test/support/redis.js';
import { eventually } from '../../../test/support/sse.js';
import type { EventDefinition } from '../../contract/events/define.js';
import { SUPERVISOR_STREAM } from '../../contract/scalars.js';
import { migrateQueue } from '../queue/migrate-queue.js';
import { JobQueue } from '../queue/job-queue.js';
import { JobWorker } from '../queue/job-worker.js';
import { sleep } from '../time/clock.js';
import type { ClaimedOperation, OperationContext, OperationDefinition, OperationHandler, OperationOutcome } from './operation.js';
import { OperationRunner } from './runner.js';
import { OperationPurge } from './purge.js';
import { OperationSweeper } from './sweeper.js';
import type { OperationTimings } from './timings.js';

// Plain objects: what is declared stays declared for the files that run after this one.
const Ended: EventDefinition = {
  type: 'request.result.test.work',
  version: 1,
  payload: z.strictObject({ request_id: z.string(), by: z.string() }),
  about: 'It is done.',
};
const Extra: EventDefinition = { type: 'test.extra', version: 1, payload: z.strictObject({ n: z.int() }), about: 'More.' };
const WorkInput = z.strictObject({ n: z.int() });
const Work: OperationDefinition<typeof WorkInput> = {
  kind: 'test.work',
  input: WorkInput,
  succeeded: Ended,
  deadlineMs: 20_000,
  maxAttempts: 3,
};
/** For work that loses its worker again and again. */
const Tough: OperationDefinition<typeof WorkInput> = { ...Work, kind: 'test.tough', maxAttempts: 1_000 };

type Run = (operation: ClaimedOperation<{ n: number }>, context: OperationContext, by: string) => Promise<OperationOutcome>;
interface Terminal {
  type: string;
  request_id: string;
  subject: string;
  actor: string;
  payload: Record<string, unknown>;
}

const NEVER = 3_600_000;
/** Rounds come soon; leases last as in production, so that no slow machine loses one: a test that needs one lost ends it. */
const FAST: Partial<OperationTimings> = { renewMs: 50, sweepMs: 50, pickupMs: 100, backoffMs: 20, graceMs: 50 };
const QUEUE_ONLY: Partial<OperationTimings> = { sweepMs: NEVER, pickupMs: NEVER };
const EXPIRE_LEASES = sql`update operations set lease_until = clock_timestamp() where state = 'running'`;

describe.each(['redis', 'postgres'] as const)('operations over a queue on %s', (backend) => {
  let database: TestDatabase;
  let redis: RedisServer | undefined;
  const workers: OperationProcess[] = [];
  let api: OperationProcess;
  let run: Run;
  let runs: { by: string; id: string; attempt: number }[] = [];
  let failedCalls: string[] = [];
  let failedThrows = false;

  let lockSeconds = 0;

  const handler = (by: string, definition = Work): OperationHandler => ({
    definition,
    lock: async (tx) => void (lockSeconds > 0 && (await sql`select pg_sleep(${lockSeconds})`.execute(tx))),
    run: (operation, context) => {
      runs.push({ by, id: operation.id, attempt: operation.attempt });
      return run(operation as ClaimedOperation<{ n: number }>, context, by);
    },
    failed: async (_tx, operation, code) => {
      if (failedThrows) throw new Error('the clean-up is broken');
      failedCalls.push(`${operation.id} ${code}`);
      return [{ stream: SUPERVISOR_STREAM, type: Extra.type, version: 1, actor: 'test', payload: { n: 2 } }];
    },
  });
  const start = async (
    id: string,
    timings?: Partial<OperationTimings>,
    worker = true,
    declared = [Work, Tough],
  ): Promise<OperationProcess> => {
    const handlers = worker ? declared.map((definition) => handler(id, definition)) : undefined;
    const started = await OperationProcess.start({
      id,
      declared,
      databaseUrl: database.url,
      redisUrl: redis?.url,
      handlers,
      timings: { ...FAST, ...timings },
    });
    if (worker) workers.push(started);
    return started;
  };
  /** Every worker has looked for more work and found none, and has ended what it had in hand: nothing comes after this. */
  const rest = async (): Promise<void> => {
    const swept = (worker: OperationProcess): Promise<boolean> =>
      worker.get(OperationSweeper).sweep().then(() => true, () => false); // prettier-ignore
    for (const worker of [...workers, ...workers]) await eventually(() => swept(worker));
    await Promise.all(workers.splice(0).map((worker) => worker.stop()));
  };
  const accept = (target: string, { definition = Work, stream = SUPERVISOR_STREAM } = {}): Promise<string> =>
    api.transactions.run(
      async (tx) => (await api.operations.accept(tx, definition, { target, stream, input: { n: 1 }, eventCursor: 'c:1' })).requestId,
    );
  /** Of one city, on its own stream. */
  const acceptMany = async (city: string, many: number): Promise<string[]> => {
    await sql`insert into event_streams (name) values (${city}) on conflict do nothing`.execute(api.db);
    const made = Array.from({ length: many }, (_, n) => accept(`${city}-${n}-${runs.length}`, { stream: city }));
    return Promise.all(made);
  };
  const terminals = async (id?: string): Promise<Terminal[]> => {
    const { rows } = await sql<Terminal>`select type, payload ->> 'request_id' as request_id, subject, actor, payload from events
      where (type = 'request.failed' or type like 'request.result.%') order by seq`.execute(api.db);
    return rows.filter((r) => id === undefined || r.request_id === id);
  };
  const row = async (id: string) => api.db.selectFrom('operations').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  const ended = async (id: string): Promise<Terminal> => {
    await eventually(async () => (await terminals(id)).length > 0);
    return (await terminals(id))[0]!;
  };
  const ok = (by: string): OperationOutcome => ({ ok: true, payload: { by } });

  beforeAll(async () => {
    database = await cloneDatabase();
    if (backend === 'postgres') await migrateQueue(database.url);
    else redis = await startRedis();
    api = await start('api', undefined, false);
    await eventually(async () => (await api.get(JobQueue).check()) === undefined);
  });
  beforeEach(() => {
    runs = [];
    failedCalls = [];
    failedThrows = false;
    lockSeconds = 0;
    run = async (_operation, _context, by) => ok(by);
  });
  afterEach(async () => {
    api.failpoints.disarm();
    await Promise.all(workers.splice(0).map((worker) => worker.stop()));
  });
  afterAll(async () => {
    await api.stop();
    await redis?.stop();
    await database.drop();
  });

  it('ends an accepted operation with one success event, through the queue alone and only once', async () => {
    await start('w1', QUEUE_ONLY);
    const id = await accept('alpha');
    const terminal = await ended(id);
    expect(id).toMatch(/^req-[0-9a-f]{24}$/);
    expect(terminal).toEqual({
      type: 'request.result.test.work',
      request_id: id,
      subject: 'alpha',
      actor: 'reconciler',
      payload: { request_id: id, by: 'w1' },
    });
    expect(await row(id)).toMatchObject({ state: 'succeeded', result: { request_id: id, by: 'w1' }, event_cursor: 'c:1', attempts: 1 });
  });

  it('takes jobs from the queue and not only from the sweeper', async () => {
    const worker = await start('w1', QUEUE_ONLY);
    expect(worker.get(JobWorker)).toBeDefined();
    const ids = await Promise.all(Array.from({ length: 20 }, (_, i) => accept(`queued-${i}`)));
    await eventually(async () => (await terminals()).filter((t) => ids.includes(t.request_id)).length === 20);
  });

  // Guard: what a worker has accepted and may not take is for others.
  it('runs what it has accepted itself, and gives to the queue what its city has no place for', async () => {
    const worker = await start('w1', QUEUE_ONLY);
    let queued = 0;
    worker.failpoints.arm('queue.before_enqueue', () => void queued++);
    let free = (): void => undefined;
    const slow = new Promise<void>((resolve) => (free = resolve));
    run = async (_operation, _context, by) => {
      await slow;
      return ok(by);
    };
    await sql`insert into event_streams (name) values ('own') on conflict do nothing`.execute(api.db);
    const ids: string[] = [];
    for (let n = 1; n <= 5; n++) {
      const asked = { target: `own-${n}`, stream: 'own', input: { n: 1 }, eventCursor: 'c:1' };
      ids.push((await worker.transactions.run((tx) => worker.operations.accept(tx, Work, asked))).requestId);
      await eventually(() => runs.length === Math.min(n, 4));
    }
    await eventually(() => queued > 0);
    expect(runs).toHaveLength(4);
    free();
    for (const id of ids) expect((await ended(id)).payload).toMatchObject({ by: 'w1' });
  });

  it('shares a burst between two workers, each operation ending once', async () => {
    await Promise.all([start('w1'), start('w2')]);
    run = async (_operation, _context, by) => {
      await eventually(() => new Set(runs.map((r) => r.by)).size === 2);
      return ok(by);
    };
    const ids = await Promise.all(Array.from({ length: 60 }, (_, i) => accept(`burst-${i}`)));
    await eventually(async () => ids.length === (await terminals()).filter((t) => ids.includes(t.request_id)).length);
    expect(new Set((await terminals()).filter((t) => ids.includes(t.request_id)).map((t) => t.request_id)).size).toBe(60);
    expect(runs.filter((r) => ids.includes(r.id))).toHaveLength(60);
  });

  it('puts running work back when its process stops, without using up an attempt', async () => {
    const leaving = await start('w1', QUEUE_ONLY);
    run = async (_operation, _context, by) => {
      if (by === 'w1') await new Promise(() => undefined);
      return ok(by);
    };
    const id = await accept('moving');
    await eventually(() => runs.length === 1);
    await leaving.stop();
    workers.splice(workers.indexOf(leaving), 1);
    expect(await row(id)).toMatchObject({ state: 'accepted', attempts: 0 });
    await start('w2');
    expect((await ended(id)).payload).toMatchObject({ by: 'w2' });
  });

  it('leaves places to other cities, however much one has and however long it takes', async () => {
    const worker = await start('w1');
    let free = (): void => undefined;
    const slow = new Promise<void>((resolve) => (free = resolve));
    run = async (operation, _context, by) => {
      if (operation.stream === 'greedy') await slow;
      return ok(by);
    };
    const greedy = await acceptMany('greedy', 20);
    await eventually(() => runs.length >= 4);
    await worker.get(OperationSweeper).sweep();
    expect(runs).toHaveLength(4);
    const others = (await Promise.all(['first', 'second'].map((city) => acceptMany(city, 6)))).flat();
    for (const id of others) expect((await ended(id)).type).toBe('request.result.test.work');
    await worker.get(OperationSweeper).sweep();
    expect(runs.filter((r) => greedy.includes(r.id))).toHaveLength(4);
    expect((await terminals()).filter((t) => greedy.includes(t.request_id))).toEqual([]);
    free();
    for (const id of greedy) expect((await ended(id)).type).toBe('request.result.test.work');
    expect(runs).toHaveLength(32);
  });

  it('serves cities in turn where one place is all there is', async () => {
    const [greedy, modest] = [await acceptMany('greedy', 6), await acceptMany('modest', 3)];
    await start('w1', { concurrency: 1 });
    for (const id of [...greedy, ...modest]) await ended(id);
    const order = runs.map(({ id }) => (greedy.includes(id) ? 'g' : 'm')).join('');
    expect(order).toBe('gmgmgmggg');
  });

  // What follows asks nothing of the queue that depends on where it is.
  if (backend === 'postgres' && !DEEP) return;

  it('refuses a second operation for a target until the first has ended', async () => {
    const first = await accept('busy');
    await expect(
      api.transactions.run((tx) =>
        api.operations.accept(tx, Work, {
          target: 'busy',
          input: { n: 2 },
          eventCursor: '',
          conflict: 'city operation already in progress at /x',
        }),
      ),
    ).rejects.toMatchObject({ problem: 'operation_in_progress', detail: 'conflict: city operation already in progress at /x' });
    expect(await api.operations.unfinished(api.db, 'busy')).toMatchObject({ id: first, kind: 'test.work', state: 'accepted' });
    await start('w1');
    await ended(first);
    expect(await api.operations.unfinished(api.db, 'busy')).toBeUndefined();
    await ended(await accept('busy'));
  });

  it('leaves nothing behind when the accepting transaction rolls back', async () => {
    const attempt = api.transactions.run(async (tx) => {
      await api.operations.accept(tx, Work, { target: 'gone', input: { n: 1 }, eventCursor: '' });
      throw new Error('rolled back');
    });
    await expect(attempt).rejects.toThrow('rolled back');
    expect(await api.operations.unfinished(api.db, 'gone')).toBeUndefined();
  });

  it('repeats a throwing handler with pauses, then fails with internal_error', async () => {
    await start('w1');
    run = async () => {
      throw new Error('always broken');
    };
    const id = await accept('broken');
    const terminal = await ended(id);
    expect(terminal.payload).toEqual({
      request_id: id,
      operation: 'test.work',
      error_code: 'internal_error',
      error_message: 'gave up after 3 attempts',
    });
    expect(runs.filter((r) => r.id === id).map((r) => r.attempt)).toEqual([1, 2, 3]);
    expect(failedCalls).toEqual([`${id} internal_error`]);
    await rest();
    expect(await terminals(id)).toHaveLength(1);
  });

  it('succeeds when a later attempt does', async () => {
    await start('w1');
    run = async (operation, _context, by) => {
      if (operation.attempt < 3) throw new Error('not yet');
      return ok(by);
    };
    expect((await ended(await accept('later'))).type).toBe('request.result.test.work');
  });

  it("writes the handler's own rows and events with the ending, or none of them", async () => {
    await start('w1');
    let tries = 0;
    run = async (_operation, _context, by) => ({
      ok: true,
      payload: { by },
      within: async (tx) => {
        await sql`insert into api_keys (id, name, hash, scope) values (${`k${++tries}`}, ${`k${tries}`}, '\\x00', 'read')`.execute(tx);
        if (tries === 1) throw new Error('the first try fails inside');
        return [{ stream: SUPERVISOR_STREAM, type: Extra.type, version: 1, actor: 'test', payload: { n: tries } }];
      },
    });
    const id = await accept('within');
    await ended(id);
    const keys = await api.db.selectFrom('api_keys').select('id').execute();
    expect(keys).toEqual([{ id: 'k2' }]);
    const { rows } = await sql<{ type: string }>`select type from events order by seq desc limit 2`.execute(api.db);
    expect(rows.map((r) => r.type)).toEqual(['request.result.test.work', 'test.extra']);
  });

  it('tells a failure that the handler decides', async () => {
    await start('w1');
    run = async () => ({ ok: false, code: 'city_config_failed', message: 'city.toml: line 3' });
    const id = await accept('decided');
    expect((await ended(id)).payload).toMatchObject({ error_code: 'city_config_failed', error_message: 'city.toml: line 3' });
    expect(await row(id)).toMatchObject({ state: 'failed', error_code: 'city_config_failed', attempts: 1 });
    expect(failedCalls).toEqual([]);
  });

  it('runs an id that is delivered twice only once', async () => {
    const runner = (await start('w1', QUEUE_ONLY)).get(OperationRunner);
    await start('w2', QUEUE_ONLY);
    let over = 0;
    run = async (_operation, _context, by) => {
      await eventually(() => over >= 9 || runs.length > 1); // one delivery has the work, all others find it taken
      return ok(by);
    };
    const id = await accept('twice');
    await Promise.all(Array.from({ length: 10 }, () => runner.deliver().then(() => over++)));
    await ended(id);
    await runner.deliver();
    expect(runs.filter((r) => r.id === id)).toHaveLength(1);
    expect(await terminals(id)).toHaveLength(1);
  });

  it('is finished by another worker when one dies between act and finish, and the late one changes nothing', async () => {
    const frozen = await start('w1', { ...QUEUE_ONLY, renewMs: NEVER });
    let thaw = (): void => undefined;
    const reached = new Promise<void>((resolve) =>
      frozen.failpoints.arm('operation.before_finish', () => {
        resolve();
        return new Promise<void>((release) => (thaw = release));
      }),
    );
    const id = await accept('dies');
    await reached;
    await EXPIRE_LEASES.execute(api.db);
    await start('w2');
    expect((await ended(id)).payload).toMatchObject({ by: 'w2' });
    thaw();
    await rest();
    expect(await terminals(id)).toHaveLength(1);
    // The queue may hand it to the first worker once more before there is a second one.
    const by = runs.filter((r) => r.id === id).map((r) => r.by);
    expect([by[0], by.at(-1)]).toEqual(['w1', 'w2']);
    expect(by.filter((one) => one === 'w2')).toHaveLength(1);
  });

  it('takes the work of a stale worker away: its signal aborts and its progress is refused', async () => {
    let why: unknown;
    let refused: unknown;
    run = async (operation, context, by) => {
      if (by === 'w2') return ok(by);
      await sleep(NEVER, context.signal);
      why = context.signal.reason;
      refused = await context.progress('too late').catch((error: unknown) => error);
      return ok(by);
    };
    await start('w1', { ...QUEUE_ONLY, renewMs: NEVER, leaseMs: 200 });
    const id = await accept('stale');
    await eventually(() => runs.length === 1);
    await start('w2');
    expect((await ended(id)).payload).toMatchObject({ by: 'w2' });
    await eventually(() => refused !== undefined);
    expect(why).toMatchObject({ why: 'lost' });
    expect(refused).toMatchObject({ why: 'lost' });
    expect(await terminals(id)).toHaveLength(1);
  });

  it.each(['operation.after_claim', 'operation.before_finish', 'tx.before_commit', 'tx.after_commit', 'operation.after_finish'] as const)(
    'ends once when the database drops its connections at %s',
    async (place) => {
      const worker = await start('w1', { leaseMs: 200 });
      let hits = 0;
      worker.failpoints.arm(place, async () => {
        if (++hits > 8) return;
        await sql`select pg_terminate_backend(pid, 10000) from pg_stat_activity where application_name = 'w1' and datname = current_database()`.execute(
          api.db,
        );
      });
      const ids = await Promise.all(Array.from({ length: 5 }, (_, i) => accept(`dropped-${i}`, { definition: Tough })));
      for (const id of ids) expect((await ended(id)).type).toBe('request.result.test.work');
      worker.failpoints.disarm();
      await rest();
      expect((await terminals()).filter((t) => ids.includes(t.request_id))).toHaveLength(5);
      expect(hits).toBeGreaterThan(0);
    },
  );

  it('renews the lease of a slow handler, so that nobody else takes it', async () => {
    const both = [await start('w1', QUEUE_ONLY), await start('w2', QUEUE_ONLY)];
    for (const worker of both) await worker.get(OperationSweeper).sweep();
    const leased = () => sql`select from operations where id = ${id} and lease_until > clock_timestamp()`.execute(api.db);
    let done = (): void => undefined;
    run = (_operation, _context, by) => new Promise((resolve) => (done = () => resolve(ok(by))));
    const id = await accept('slow');
    await eventually(() => runs.length === 1);
    const { by } = runs[0]!;
    const other = both[by === 'w1' ? 1 : 0]!.get(OperationSweeper);
    for (let lease = 0; lease < 3; lease++) {
      await EXPIRE_LEASES.execute(api.db);
      await eventually(async () => (await leased()).rows.length === 1);
      await other.sweep();
    }
    done();
    expect((await ended(id)).payload).toMatchObject({ by });
    expect(runs.filter((r) => r.id === id)).toHaveLength(1);
  });

  // Guard: attempts are counted anew once a step is done for good.
  it('gives up after so many attempts in a row that have done no step', async () => {
    await start('w1');
    let steps = 0;
    run = async (_operation, context) => {
      if (++steps <= 5) await context.advanced(`step ${steps}`);
      throw new Error('the database is away');
    };
    const id = await accept('long');
    expect((await ended(id)).payload).toMatchObject({ error_code: 'internal_error', error_message: 'gave up after 3 attempts' });
    expect(steps).toBe(7);
  });

  it('fails with timeout at the deadline, while the handler still runs, and progress extends it', async () => {
    const worker = await start('w1');
    run = async (_operation, context, by) => {
      await context.progress('one');
      await worker.db.updateTable('operations').set({ phase: 'two' }).where('state', '=', 'running').execute();
      await sleep(NEVER, context.signal);
      return ok(by);
    };
    const id = await accept('endless');
    await eventually(async () => (await row(id)).phase === 'two');
    await sql`update operations set deadline_at = clock_timestamp() where id = ${id}`.execute(api.db);
    expect((await ended(id)).payload).toMatchObject({ error_code: 'timeout', error_message: 'not finished within 20 s' });
    expect(failedCalls).toEqual([`${id} timeout`]);
    await rest();
    expect(await terminals(id)).toHaveLength(1);
  });

  it('fails what nobody had a place for as long as it may wait, which is longer than it may take', async () => {
    const [late, waiting] = [await accept('late'), await accept('waiting')];
    await sql`update operations set deadline_at = clock_timestamp() where id = ${late}`.execute(api.db);
    expect((await row(waiting)).deadline_at.getTime()).toBeGreaterThan(Date.now() + 10 * Work.deadlineMs);
    await start('w1');
    expect((await ended(late)).payload).toMatchObject({ error_code: 'not_started' });
    expect((await ended(waiting)).type).toBe('request.result.test.work');
    expect(runs.map(({ id }) => id)).toEqual([waiting]);
  });

  it('is not taken again while its end is under way, however many are past their deadline', async () => {
    // Taken again in each round, none would ever end: the fence would have moved on when an ending came to its guard.
    lockSeconds = 0.1;
    const ids: string[] = [];
    for (let n = 0; n < 50; n++) ids.push(await accept(`many-${n}`));
    await sql`update operations set deadline_at = clock_timestamp() where id = any(${ids})`.execute(api.db);
    await Promise.all([start('w1', { sweepMs: 20 }), start('w2', { sweepMs: 20 })]);
    for (const id of ids) expect((await ended(id)).payload).toMatchObject({ error_code: 'not_started' });
    const { rows } = await sql<{ most: number }>`select max(attempts)::int as most from operations where id = any(${ids})`.execute(api.db);
    expect(rows[0]!.most).toBe(1);
    expect(failedCalls).toHaveLength(50);
  });

  // Guard: the family's part of an ending is known to newer workers alone.
  it('leaves a kind that it does not know to a worker that does, as while an upgrade is under way', async () => {
    const older = await start('older', {}, true, [Work]);
    const id = await accept('kind', { definition: Tough });
    await sql`update operations set run_after = clock_timestamp() - interval '1 hour' where id = ${id}`.execute(api.db);
    for (let round = 0; round < 3; round++) await older.get(OperationSweeper).sweep();
    const after = await accept('after');
    expect((await ended(after)).payload).toMatchObject({ by: 'older' });
    expect(await row(id)).toMatchObject({ state: 'accepted', attempts: 0 });
    await start('newer');
    expect((await ended(id)).payload).toMatchObject({ by: 'newer' });
  });

  it('ends what nobody knows when it has waited as long as it may, and for a minute in vain for who knows it', async () => {
    const [late, later] = [await accept('late-kind'), await accept('later-kind')];
    await sql`update operations set kind = 'test.removed' where id in (${late}, ${later})`.execute(api.db);
    await sql`update operations set deadline_at = clock_timestamp() - case when id = ${late} then interval '1 s' else interval '61 s' end
      where id in (${late}, ${later})`.execute(api.db);
    await start('w1');
    expect((await ended(later)).payload).toMatchObject({ operation: 'test.removed', error_code: 'not_started' });
    expect(await row(late)).toMatchObject({ state: 'accepted', attempts: 0 });
    expect(runs).toHaveLength(0);
  });

  it('reads a stored input that it cannot read as often as it may try, and then ends it', async () => {
    const never = await accept('never-read');
    await sql`update operations set input = '{"n":"x"}' where id = ${never}`.execute(api.db);
    await start('w1');
    expect((await ended(never)).payload).toMatchObject({
      error_code: 'internal_error',
      error_message: 'the stored request cannot be read',
    });
    expect((await row(never)).attempts).toBe(Work.maxAttempts);
    expect(runs).toHaveLength(0);
  });

  it('fails an operation whose workers died on every attempt', async () => {
    const id = await accept('poison');
    await sql`update operations set state = 'running', attempts = 3, fence = 3, lease_until = clock_timestamp() where id = ${id}`.execute(
      api.db,
    );
    await start('w1');
    expect((await ended(id)).payload).toMatchObject({ error_code: 'internal_error' });
    expect(runs).toHaveLength(0);
  });

  it('fails even when the clean-up of the family throws', async () => {
    failedThrows = true;
    run = async () => {
      throw new Error('broken');
    };
    await start('w1');
    const id = await accept('unclean');
    expect((await ended(id)).payload).toMatchObject({ error_code: 'internal_error' });
    expect(await terminals(id)).toHaveLength(1);
  });

  it('needs no queue: a sweeper alone ends everything', async () => {
    api.failpoints.arm('queue.before_enqueue', () => {
      throw new Error('the queue is away');
    });
    await start('w1');
    const ids = await Promise.all(Array.from({ length: 30 }, (_, i) => accept(`swept-${i}`)));
    await eventually(async () => (await terminals()).filter((t) => ids.includes(t.request_id)).length === 30);
    expect(runs).toHaveLength(30);
  });

  it('deletes finished operations after their time', async () => {
    const worker = await start('w1');
    const [old, recent] = [await accept('old'), await accept('recent')];
    await Promise.all([ended(old), ended(recent)]);
    await sql`update operations set finished_at = now() - interval '8 days' where id = ${old}`.execute(api.db);
    await worker.get(OperationPurge).round();
    const left = await api.db.selectFrom('operations').select('id').where('id', 'in', [old, recent]).execute();
    expect(left).toEqual([{ id: recent }]);
  });

  const answers = (age: string, n: number): Promise<unknown> =>
    sql`insert into idempotency_keys (scope, operation, key, body_hash, status, body, created_at)
      select '', 'test', ${age} || n, '', 201, '{}', now() - ${age}::interval from generate_series(1, ${n}::int) n`.execute(api.db);
  const answersLeft = async (): Promise<number> =>
    (await sql`select from idempotency_keys where operation = 'test'`.execute(api.db)).rows.length;

  // Guard: a round deletes all stored answers that have had their time, however many there are.
  it('deletes all stored answers that have had their time in one round', async () => {
    await answers('23 hours', 2);
    await answers('25 hours', 1);
    const worker = await start('w1', { purgeMs: NEVER });
    // The first round of the worker is over, and no other comes.
    await eventually(async () => (await answersLeft()) === 2);
    // More than a round takes, were it of one transaction.
    await answers('25 hours', 5_000);
    await worker.get(OperationPurge).round();
    expect(await answersLeft()).toBe(2);
    await sql`delete from idempotency_keys where operation = 'test'`.execute(api.db);
  });

  it('finds what the queue does not bring while a purge takes long', async () => {
    api.failpoints.arm('queue.before_enqueue', () => {
      throw new Error('the queue is away');
    });
    await api.transactions.run(async (tx) => {
      await sql`lock table idempotency_keys in share mode`.execute(tx);
      await start('w1', { purgeMs: 1 });
      const purging = sql`select from pg_stat_activity where application_name = 'w1' and wait_event_type = 'Lock' and query like '%idempotency_keys%'`;
      await eventually(async () => (await purging.execute(api.db)).rows.length > 0);
      await ended(await accept('meanwhile'));
    });
  });

  it('does not start a worker with a missing or a second handler', async () => {
    const options = { id: 'bad', declared: [Work], databaseUrl: database.url, redisUrl: redis?.url };
    await expect(OperationProcess.start({ ...options, handlers: [] })).rejects.toThrow('operations without a handler: test.work');
    await expect(OperationProcess.start({ ...options, handlers: [handler('a'), handler('b')] })).rejects.toThrow(
      'operation has two handlers: test.work',
    );
  });
});
