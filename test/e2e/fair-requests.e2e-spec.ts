import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { startStack, type Stack } from '../support/app.js';
import { putKey } from '../support/callers.js';
import { api, type Api, type Reply } from '../support/http.js';
import { eventually, openStream } from '../support/sse.js';

const FLOOD = 40;
let stack: Stack;
let holder: pg.Client;
const clients = new Map<string, Api>();
const tokens = new Map<string, { Authorization: string }>();
const as = (name: string): Api => clients.get(name)!;

beforeAll(async () => {
  stack = await startStack({
    apis: 1,
    config: { auth: 'keys', requestLimits: { total: 16, key: 12, city: 12, waiting: 120 }, streamLimits: { key: 1, city: 1 } },
  });
  const key = async (name: string, cities?: string[]): Promise<void> => {
    const token = await putKey(stack.databaseUrl, name, { scope: 'write', ...(cities === undefined ? {} : { cities }) });
    const headers = { Authorization: `Bearer ${token}` };
    tokens.set(name, headers);
    clients.set(name, api(stack.urls[0]!, headers));
  };
  await key('operator');
  await key('flood', ['flood']);
  await key('calm', ['calm']);
  for (const dir of ['flood', 'calm']) expect((await as('operator').post('/v0/city', { dir, provider: 'loopback' })).status).toBe(202);
  await eventually(async () => (await as('operator').get('/v0/events?type=request.result.city.create')).body.total === 2);
  holder = new pg.Client({ connectionString: stack.databaseUrl });
  await holder.connect();
});
afterAll(async () => {
  await holder.end();
  await stack.stop();
});

const waiting = (name: string): (() => Promise<boolean>) => {
  const line = new RegExp(`^${name} [1-9]`, 'm');
  return async () => line.test(await (await fetch(`${stack.urls[0]}/metrics`)).text());
};

describe('a key whose reads wait', () => {
  // Guard: what waits is counted with the streams.
  it('has so many of them, streams included, and one more when one of them has ended', async () => {
    const path = '/v0/city/calm/status?index=1000000';
    const stream = await openStream(`${stack.urls[0]}/v0/city/calm/events/stream`, { headers: tokens.get('calm')! });
    const refused = await as('calm').get(`${path}&wait=1ms`);
    expect(refused.status).toBe(429);
    expect(refused.body.detail).toBe('rate_limited: too many requests of this key: 1 streams open at once, reads that wait among them');
    expect(refused.headers.get('retry-after')).toBe('5');
    expect((await as('calm').get('/v0/city/calm/status?index=0')).status).toBe(200);
    await stream.close();
    await eventually(async () => (await as('calm').get(`${path}&wait=1ms`)).status === 200);
    const over = new AbortController();
    const held = fetch(`${stack.urls[0]}${path}&wait=60s`, { headers: tokens.get('calm')!, signal: over.signal }).catch(() => undefined);
    await eventually(async () => (await as('calm').get(`${path}&wait=1ms`)).status === 429);
    expect((await as('calm').get('/v0/city/calm/events/stream')).status).toBe(429);
    over.abort();
    await held;
  });
});

describe('a city whose requests are all held up', () => {
  it('holds up nobody else: the other and the operator are answered before its line is through', async () => {
    const bead = (await as('flood').post('/v0/city/flood/beads', { title: 'held' })).body.id as string;
    await holder.query('begin');
    await holder.query("select pg_advisory_xact_lock(2, id) from event_streams where name = 'flood'");
    let answered = 0;
    const flood = Array.from({ length: FLOOD }, async (_, n): Promise<Reply> => {
      const reply = await as('flood').patch(`/v0/city/flood/bead/${bead}`, { title: `changed ${n}` });
      answered++;
      return reply;
    });
    await eventually(waiting('svc_requests_waiting'));
    expect((await as('calm').post('/v0/city/calm/beads', { title: 'at once' })).status).toBe(201);
    expect((await as('calm').get('/v0/city/calm/beads')).body.total).toBe(1);
    expect((await as('operator').get('/v0/cities')).body.total).toBe(2);
    const { waiting: shown } = (await as('operator').get('/v0/city/flood/status')).body as { waiting: object[] };
    expect(shown).toEqual([
      { what: 'requests', count: expect.any(Number), reason: expect.stringMatching(/^this replica works on \d+ of the city's requests/) },
    ]);
    expect((await as('operator').get('/v0/city/calm/status')).body.waiting).toBeUndefined();
    expect(answered).toBeLessThan(FLOOD);
    await holder.query('rollback');
    const statuses = new Set((await Promise.all(flood)).map(({ status }) => status));
    // 429 where the machine was so slow that one had waited for as long as it may.
    expect([...statuses].filter((status) => ![200, 409, 429, 503].includes(status))).toEqual([]);
    expect((await as('flood').get(`/v0/city/flood/bead/${bead}`)).status).toBe(200);
  });
});
