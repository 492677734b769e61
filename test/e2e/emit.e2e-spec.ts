import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { startStack, type Stack } from '../support/app.js';
import { LOCK_TIMEOUT_MS } from '../support/database.js';
import { HoldingGate } from '../support/gate.js';
import { api, type Api, type Reply } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { expectRefusal } from '../support/refusal.js';
import { eventually } from '../support/sse.js';

let stack: Stack;
let a: Api;
let b: Api;

// What is seen here is how the database is shared: no request waits at the front door.
const MANY = { total: 10_000, key: 10_000, city: 4_000, waiting: 10_000 };

beforeAll(async () => {
  stack = await startStack({ lockTimeoutMs: LOCK_TIMEOUT_MS, config: { requestLimits: MANY } });
  [a, b] = stack.urls.map((url) => api(url)) as [Api, Api];
  const ledger = await Ledger.open(stack);
  const replies = await Promise.all(['mixed', 'hot', 'calm', 'quiet'].map((dir) => a.post('/v0/city', { dir, provider: 'loopback' })));
  await Promise.all(replies.map((reply) => ledger.succeeded(reply, 'request.result.city.create')));
  await ledger.stream.close();
});
afterEach(() => {
  for (const failpoints of stack.failpoints) failpoints.disarm();
});
afterAll(() => stack?.stop());

const emit = (at: Api, city: string, n: number, more: object = {}, headers: Record<string, string> = {}): Promise<Reply> =>
  at.post(`/v0/city/${city}/events`, { type: 'test.emitted', actor: 'emitter', payload: { n }, ...more }, headers);
async function recorded(city: string, type = 'test.emitted'): Promise<{ seq: number; n: number }[]> {
  const { body } = await b.get(`/v0/city/${city}/events?after_seq=0&limit=1000&type=${type}`);
  return body.items.map((e: { seq: number; payload: { n: number } }) => ({ seq: e.seq, n: e.payload.n }));
}

describe('emits that share a transaction', () => {
  const path = '/v0/city/mixed/events';
  const BAD: readonly [object, string | undefined][] = [
    [{ type: 'request.failed' }, 'body.type'],
    [{ type: 'session.stopped', payload: { reason: 'no id' } }, 'body.payload.session_id'],
    [{ payload: { text: 'nul \0' } }, 'body.payload.text'],
    [{ subject: 'lone \ud800' }, 'body.subject'],
    [{ payload: JSON.parse(`${'{"x":'.repeat(70)}1${'}'.repeat(70)}`) as object }, 'body'],
    [{ payload: [] }, 'body.payload'],
    [{ actor: '' }, 'body.actor'],
    [{ unknown: true }, undefined],
  ];

  // Guard: what cannot be stored is refused before it joins a batch; a used key is decided item by item.
  it('are answered each for itself, good among bad', async () => {
    const used = { 'Idempotency-Key': 'mixed-used' };
    expect((await emit(a, 'mixed', 0, {}, used)).status).toBe(201);
    const gates = stack.failpoints.slice(0, 2).map((failpoints) => {
      const gate = new HoldingGate();
      failpoints.arm('emit.before_flush', gate.action(1));
      return gate;
    });
    const first = [emit(a, 'mixed', 1), emit(b, 'mixed', 2)];
    await eventually(() => gates.every((gate) => gate.held === 1));
    const good = Array.from({ length: 60 }, (_, i) => emit(i % 2 === 0 ? a : b, 'mixed', 3 + i));
    const bad = BAD.flatMap(([more]) => [emit(a, 'mixed', -1, more), emit(b, 'mixed', -1, more)]);
    const reused = [emit(a, 'mixed', 7_000, {}, used), emit(b, 'mixed', 7_000, {}, used)];
    const repeated = [emit(a, 'mixed', 0, {}, used), emit(b, 'mixed', 0, {}, used)];
    for (const [i, reply] of (await Promise.all(bad)).entries()) {
      const location = BAD[i >> 1]![1];
      expectRefusal(reply, path, {
        status: 422,
        detail: 'validation_failed: validation failed',
        ...(location === undefined ? {} : { fields: [location] }),
      });
    }
    for (const gate of gates) gate.release();
    for (const reply of await Promise.all([...first, ...good])) expect(reply.body).toEqual({ status: 'recorded', seq: expect.any(Number) });
    for (const reply of await Promise.all(reused)) expectRefusal(reply, path, { status: 422, detail: /^idempotency_mismatch: / });
    const rows = await recorded('mixed');
    expect(rows.map((row) => row.n).sort((x, y) => x - y)).toEqual(Array.from({ length: 63 }, (_, i) => i));
    expect(rows.every((row, i) => i === 0 || row.seq === rows[i - 1]!.seq + 1)).toBe(true);
    const own = rows.find((row) => row.n === 0)!.seq;
    for (const reply of await Promise.all(repeated)) expect(reply.body).toEqual({ status: 'recorded', seq: own });
  });

  // Guard: a failed batch is halved until the culprit stands alone.
  it('do not fail with a batch that fails', async () => {
    const gate = new HoldingGate();
    let hits = 0;
    stack.failpoints[0]!.arm('emit.before_flush', async () => {
      hits++;
      if (hits === 1) await gate.action()('emit.before_flush');
      else if (hits === 2 || hits === 3) throw new Error('planted: this batch cannot be stored');
    });
    const first = emit(a, 'calm', 1);
    await eventually(() => gate.held === 1);
    const together = Array.from({ length: 8 }, (_, i) => emit(a, 'calm', 2 + i));
    // The answers below come from batches; that all eight wait for the first is what makes them one.
    await new Promise((resolve) => setTimeout(resolve, 500));
    for (let i = 0; i < 3; i++) await a.get('/v0/city/calm');
    gate.release();
    const replies = await Promise.all([first, ...together]);
    expect(replies.map((reply) => reply.status)).toEqual(Array(9).fill(201));
    expect((await recorded('calm')).map((row) => row.n).sort((x, y) => x - y)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  // Guard: the key's answer is stored in the transaction of the event.
  it('are recorded once when the answer was lost and the client repeats at the other replica', async () => {
    const key = { 'Idempotency-Key': 'lost-answer' };
    stack.failpoints[0]!.arm('emit.after_flush', () => {
      throw Object.assign(new Error('planted'), { code: 'ECONNRESET' });
    });
    const lost = await emit(a, 'quiet', 1, {}, key);
    expectRefusal(lost, '/v0/city/quiet/events', { status: 503, detail: /^unavailable: .*Idempotency-Key/ });
    const repeats = await Promise.all(Array.from({ length: 20 }, () => emit(b, 'quiet', 1, {}, key)));
    const rows = await recorded('quiet');
    expect(rows).toHaveLength(1);
    for (const reply of repeats) expect(reply.body).toEqual({ status: 'recorded', seq: rows[0]!.seq });
  });
});

it.each([
  'request.x',
  'supervisor.x',
  'city.created',
  'controller.stopped',
  'events.x',
  'Request.failed',
  ' request.failed',
  'r\u0435quest.failed',
  'request\u2024failed',
])('the reserved kind %s is refused', async (type) => {
  const reply = await emit(b, 'mixed', 1, { type });
  expectRefusal(reply, '/v0/city/mixed/events', { status: 422, detail: 'validation_failed: validation failed', fields: ['body.type'] });
});

describe('a city whose log is locked', () => {
  const MANY_MORE = 48;

  // Guards: the lock_timeout of every connection, and the bound on connections that one city's transactions may hold.
  it('answers 503 with Retry-After, while other cities go on through the same replica', async () => {
    const holder = new pg.Client({ connectionString: stack.databaseUrl });
    await holder.connect();
    try {
      await holder.query("select pg_advisory_lock(1, stream_id) from cities where name = 'hot'");
      // Many more than the pool has connections: without both bounds (`Transactions`, `PgPool`) others would come behind nearly all of them.
      let settled = 0;
      const suspensions = Array.from({ length: MANY_MORE }, async (_, i) => {
        const reply = await a.patch('/v0/city/hot', { suspended: i % 2 === 0 });
        settled++;
        return reply;
      });
      const emits = Array.from({ length: 3 }, (_, n) => emit(a, 'hot', n));
      const queued = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
      // Two at the least: of a city that had much just before others wait outside of the database, for its turn.
      await eventually(async () => (await holder.query(queued)).rowCount! >= 2);
      await new Promise((resolve) => setTimeout(resolve, 300));
      const others = await Promise.all([
        ...Array.from({ length: 10 }, (_, n) => emit(a, 'calm', n, { type: 'test.other' })),
        ...Array.from({ length: 5 }, (_, i) => a.patch('/v0/city/calm', { suspended: i % 2 === 0 })),
        a.get('/v0/cities'),
        a.get('/v0/city/hot'),
        a.get('/v0/city/hot/events'),
        a.post('/v0/city/quiet/stop'),
      ]);
      expect(others.map((reply) => reply.status).filter((status) => status >= 400)).toEqual([]);
      expect(settled).toBeLessThan(MANY_MORE / 2);
      for (const reply of await Promise.all(emits)) {
        expectRefusal(reply, '/v0/city/hot/events', { status: 503, detail: /^unavailable: / });
        expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
      }
      await holder.query('select pg_advisory_unlock_all()');
      for (const reply of await Promise.all(suspensions)) expect([200, 503]).toContain(reply.status);
      expect((await emit(a, 'hot', 9)).status).toBe(201);
      expect((await recorded('hot')).map((row) => row.n)).toEqual([9]);
    } finally {
      await holder.end();
    }
  });
});
