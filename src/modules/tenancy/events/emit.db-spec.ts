import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { ANYBODY } from '../../../contract/principal.js';
import { createDb, createPool, type Db, type PgPool } from '../../../platform/database/database.js';
import { MovedStreams, type Moved } from '../../../platform/event-log/moved.js';
import { Failpoints } from '../../../platform/failpoints/failpoints.js';
import { Metrics } from '../../../platform/health/metrics.js';
import { LOCK_TIMEOUT_MS, cloneDatabase, type TestDatabase } from '../../../../test/support/database.js';
import { registerCity } from '../../../../test/support/registry.js';
import { EmitRepository } from './emit.repository.js';
import { EmitService } from './emit.service.js';
import { EmitCommitter } from './emit-committer.js';

let database: TestDatabase;
let pool: PgPool;
let db: Db;

/** One process's emit path. */
function aProcess(): { emits: EmitService; committer: EmitCommitter; moved: Moved[]; failpoints: Failpoints; flushes: () => number } {
  const streams = new MovedStreams();
  const moved: Moved[] = [];
  streams.listen((m) => moved.push(...m));
  const failpoints = new Failpoints();
  let flushes = 0;
  const repository = new EmitRepository(pool);
  const emit = repository.emit.bind(repository);
  repository.emit = (items, wait, records) => {
    flushes++;
    return emit(items, wait, records);
  };
  const committer = new EmitCommitter(repository, streams, failpoints, new Metrics());
  return { emits: new EmitService(committer), committer, moved, failpoints, flushes: () => flushes };
}

async function log(): Promise<{ seq: number; type: string; actor: string; payload: unknown }[]> {
  return db.selectFrom('events').select(['seq', 'type', 'actor', 'payload']).orderBy('seq').execute();
}

const anEvent = (n: number) => ({ type: 'x.thing', actor: 'tester', payload: { n } });
const item = (value: object): string => JSON.stringify({ stream: 'alpha', actor: 'tester', ...value });

beforeEach(async () => {
  database = await cloneDatabase(LOCK_TIMEOUT_MS);
  pool = createPool(database.url);
  db = createDb(pool);
  await registerCity(db, 'alpha', '/alpha');
});
afterEach(async () => {
  await db.destroy();
  await database.drop();
});

describe('emitting events', () => {
  it('gives concurrent emits of two processes dense seqs in few transactions', async () => {
    const [a, b] = [aProcess(), aProcess()];
    const answers = await Promise.all(
      Array.from({ length: 400 }, (_, i) => (i % 2 ? a : b).emits.emit('alpha', anEvent(i), undefined, ANYBODY)),
    );
    const rows = await log();
    expect(rows.map((r) => r.seq)).toEqual(Array.from({ length: 400 }, (_, i) => i + 1));
    answers.forEach(({ seq }, i) => expect(rows[seq! - 1]!.payload).toEqual({ n: i }));
    expect(a.flushes() + b.flushes()).toBeLessThanOrEqual(10);
    expect(Math.max(...[...a.moved, ...b.moved].map((m) => m.head))).toBe(400);
  });

  it('fails only the item that cannot be stored', async () => {
    const { committer } = aProcess();
    const texts = Array.from({ length: 60 }, (_, i) =>
      item(i === 17 || i === 41 ? { type: 'bad', payload: { n: i }, message: '\0' } : { type: 'good', payload: { n: i } }),
    );
    const settled = await Promise.allSettled(texts.map((text) => committer.emit('alpha', text)));
    expect(settled.flatMap((s, i) => (s.status === 'rejected' ? [i] : []))).toEqual([17, 41]);
    expect((await log()).length).toBe(58);
  });

  it("refuses values that Postgres cannot store as the client's mistake", async () => {
    const { emits } = aProcess();
    const bodies = [
      { message: 'a\0b' },
      { subject: '\ud800' },
      { payload: { 'k\udfff': 1 } },
      { payload: JSON.parse('{"a":'.repeat(9_000) + '1' + '}'.repeat(9_000)) as Record<string, unknown> },
    ];
    const settled = await Promise.allSettled(
      bodies.map((body) => emits.emit('alpha', { type: 'x', actor: 'a', ...body }, undefined, ANYBODY)),
    );
    for (const s of settled) expect(s).toMatchObject({ status: 'rejected', reason: { kind: { status: 422 } } });
    await emits.emit('alpha', { type: 'x', actor: 'a', message: 'a literal \\u0000 and \\ud800 is text' }, undefined, ANYBODY);
  });

  it('checks payloads of known kinds and keeps reserved kinds for itself', async () => {
    const { emits } = aProcess();
    const emit = (type: string, payload?: Record<string, unknown>) =>
      emits.emit('alpha', { type, actor: 'a', payload }, undefined, ANYBODY);
    await expect(emit('request.failed')).rejects.toMatchObject({ kind: { status: 422 }, errors: [{ location: 'body.type' }] });
    for (const type of [
      'city.created',
      'supervisor.x',
      'controller.stopped',
      'events.rotated',
      'session.interaction.opened',
      'session.interaction.resolved',
    ])
      await expect(emit(type)).rejects.toThrow('validation_failed');
    await expect(emit('session.stopped', { reason: 'x' })).rejects.toMatchObject({ errors: [{ location: 'body.payload.session_id' }] });
    await expect(emit('session.stopped', { session_id: 's', more: 1 })).rejects.toThrow('validation_failed');
    await expect(emit('session.stopped', { session_id: 's' })).resolves.toMatchObject({ status: 'recorded', seq: 1 });
    await expect(emit('session.woke')).resolves.toMatchObject({ seq: 2 });
    await expect(emit('cityscape.painted', { any: ['thing'] })).resolves.toMatchObject({ seq: 3 });
  });

  it('lets no client say what a session is like', async () => {
    const { emits } = aProcess();
    const told = { id: 'al-1', state: 'closed', template: 'x', title: 'x', provider: 'x', session_name: 'x' };
    const session = { ...told, created_at: '2026-01-01T00:00:00Z', attached: false, running: false };
    const emit = (type: string, payload: Record<string, unknown>) => emits.emit('alpha', { type, actor: 'a', payload }, undefined, ANYBODY);
    await expect(emit('session.of_mine', { session })).rejects.toMatchObject({ errors: [{ location: 'body.payload.session' }] });
    await emit('session.stopped', { session_id: 'al-1', session });
    await emit('shop.sold', { session });
    expect((await log()).map(({ payload }) => payload)).toEqual([{ session_id: 'al-1' }, { session }]);
  });

  it('lets no client say what a bead is like', async () => {
    const { emits } = aProcess();
    const bead = { id: 'al-1', title: 'forged', status: 'closed', issue_type: 'task', created_at: '2026-01-01T00:00:00Z' };
    const emit = (type: string, payload: Record<string, unknown>) => emits.emit('alpha', { type, actor: 'a', payload }, undefined, ANYBODY);
    await expect(emit('bead.of_mine', { bead })).rejects.toMatchObject({ errors: [{ location: 'body.payload.bead' }] });
    await emit('bead.updated', { bead: { ...bead, revision: 9_007_199_254_740_991 } });
    await emit('shop.sold', { bead: { ...bead, revision: 7 } });
    expect((await log()).map(({ payload }) => payload)).toEqual([{ bead }, { bead: { ...bead, revision: 7 } }]);
  });

  it('has one effect for a key, over processes, batches and repeats', async () => {
    const [a, b] = [aProcess(), aProcess()];
    const one = anEvent(1);
    const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => (i % 2 ? a : b).emits.emit('alpha', one, 'key-1', ANYBODY)));
    // In a quiet city: one emit is decided by another statement than a batch.
    expect(await a.emits.emit('alpha', one, 'key-1', ANYBODY)).toEqual(answers[0]);
    expect(new Set(answers.map((x) => x.seq))).toEqual(new Set([1]));
    const mixed = await Promise.allSettled([
      a.emits.emit('alpha', anEvent(2), 'key-1', ANYBODY),
      a.emits.emit('alpha', anEvent(3), 'key-3', ANYBODY),
      a.emits.emit('alpha', { payload: { n: 3 }, actor: 'tester', type: 'x.thing' }, 'key-3', ANYBODY),
      a.emits.emit('alpha', anEvent(4), undefined, ANYBODY),
      b.emits.emit('alpha', anEvent(5), 'key-3', ANYBODY),
    ]);
    expect(mixed[0]).toMatchObject({ reason: { kind: { status: 422, code: 'idempotency-mismatch' } } });
    expect(mixed[1]).toEqual(mixed[2]);
    expect((await log()).length).toBe(3);
    expect(await db.selectFrom('idempotency_keys').selectAll().execute()).toHaveLength(2);
  });

  it("answers 404 for cities that do not run or are not the caller's", async () => {
    const { emits } = aProcess();
    await expect(emits.emit('beta', anEvent(1), undefined, ANYBODY)).rejects.toThrow('not_found: city not found or not running: beta');
    await expect(emits.emit('alpha', anEvent(1), undefined, { ...ANYBODY, cities: ['beta'] })).rejects.toThrow(
      'not_found: city not found or not running: alpha',
    );
    await sql`update cities set running = false, phase = 'stopped' where name = 'alpha'`.execute(db);
    await expect(emits.emit('alpha', anEvent(1), undefined, ANYBODY)).rejects.toThrow('not_found');
    expect(await log()).toEqual([]);
  });

  it('fails all waiting emits with 503 when the stream stays locked, and recovers', async () => {
    const { emits } = aProcess();
    const holder = await pool.connect();
    await holder.query(`begin; select pg_advisory_xact_lock(1, id) from event_streams where name = 'alpha'`);
    const settled = await Promise.allSettled([1, 2, 3].map((n) => emits.emit('alpha', anEvent(n), undefined, ANYBODY)));
    expect(settled.map((s) => (s.status === 'rejected' ? (s.reason as { code: string }).code : s))).toEqual(['55P03', '55P03', '55P03']);
    await holder.query('rollback');
    holder.release();
    await expect(emits.emit('alpha', anEvent(4), undefined, ANYBODY)).resolves.toMatchObject({ seq: 1 });
  });
});
