import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { startStack, type Stack } from '../support/app.js';
import { adminAt } from '../support/database.js';
import { DatabaseProxy } from '../support/database-proxy.js';
import { DEEP } from '../support/depth.js';
import { api, type Api, type Reply } from '../support/http.js';
import { expectRefusal } from '../support/refusal.js';
import { SlowClient } from '../support/slow-client.js';
import { eventually, MAX_FILTERS, openStream, type Frame, type OpenStream, sleep } from '../support/sse.js';

const LIMIT_MS = 120_000;
/** What each of twenty writers appends. */
const EACH = DEEP ? 20 : 4;
const SUPERVISOR = '/v0/events/stream';

let stack: Stack;
let a: Api;
let b: Api;
const opened: OpenStream[] = [];

beforeAll(async () => {
  stack = await startStack({ config: { heartbeatMs: 200 } });
  [a, b] = stack.urls.map((url) => api(url)) as [Api, Api];
});
afterEach(async () => {
  for (const failpoints of stack.failpoints) failpoints.disarm();
  await Promise.all(opened.splice(0).map((stream) => stream.close()));
  jest.restoreAllMocks();
});
afterAll(() => stack?.stop());

const isEvent = (f: Frame): boolean => f.event !== 'heartbeat';
const events = (s: OpenStream): Frame[] => s.frames.filter(isEvent);
const seqs = (s: OpenStream): number[] => events(s).map((f) => f.data.seq as number);
const from = (first: number, count: number): number[] => Array.from({ length: count }, (_, i) => first + i);
const someUrl = (): string => stack.urls[Math.random() < 0.5 ? 0 : 1]!;
const sql = <R extends Record<string, unknown>>(text: string, values: unknown[] = []): Promise<R[]> =>
  adminAt<R>(stack.databaseUrl, text, values);
const cityPath = (city: string): string => `/v0/city/${city}/events/stream`;

/** `path` on A, unless it is a whole address. Closed after the test. */
async function open(path: string, headers: Record<string, string> = {}): Promise<OpenStream> {
  const stream = await openStream(path.startsWith('http') ? path : `${stack.urls[0]}${path}`, { headers });
  expect({ path, status: stream.response.status }).toEqual({ path, status: 200 });
  opened.push(stream);
  return stream;
}
const terminalOf =
  (reply: Reply) =>
  (f: Frame): boolean =>
    isEvent(f) && f.data.payload?.request_id === reply.body.request_id && /^request\./.test(f.data.type as string);

/** Sends a lifecycle request to A and waits at B for its end, from the cursor that A answered. */
async function done(reply: Reply): Promise<Frame> {
  expect({ status: reply.status, text: reply.text }).toMatchObject({ status: 202 });
  const stream = await openStream(`${stack.urls[1]}${SUPERVISOR}?after_cursor=${encodeURIComponent(reply.body.event_cursor)}`);
  try {
    return await stream.until(terminalOf(reply));
  } finally {
    await stream.close();
  }
}
const create = async (...names: string[]): Promise<void> => {
  const replies = await Promise.all(names.map((dir, i) => (i % 2 === 0 ? a : b).post('/v0/city', { dir, provider: 'loopback' })));
  for (const end of await Promise.all(replies.map(done))) expect(end.data.type).toBe('request.result.city.create');
};
const emit = async (at: Api, city: string, payload: object = {}): Promise<number> => {
  const reply = await at.post(`/v0/city/${city}/events`, { type: 'test.emitted', actor: 'emitter', payload });
  expect(reply.status).toBe(201);
  return reply.body.seq as number;
};
const head = async (city: string): Promise<number> => Number((await b.get(`/v0/city/${city}/events?limit=1`)).headers.get('x-svc-index'));

describe('following one request', () => {
  // Guard: the cursor is captured before the operation, and a city that registers joins the supervisor's feed from its first event.
  it.each([
    ['a subscriber that was there before, on an empty supervisor', 'early'],
    ['a subscriber that comes with the cursor afterwards', 'late'],
  ])('%s gets city.created first and the end once', async (_, when) => {
    const early = when === 'early' ? await open(`${stack.urls[1]}${SUPERVISOR}`) : undefined;
    const reply = await a.post('/v0/city', { dir: when, provider: 'loopback' });
    const stream = early ?? (await open(`${stack.urls[1]}${SUPERVISOR}?after_cursor=${encodeURIComponent(reply.body.event_cursor)}`));
    await stream.until(terminalOf(reply));
    await emit(a, when);
    await stream.until((f) => isEvent(f) && f.data.type === 'test.emitted');
    const own = events(stream).filter((f) => f.data.city === when);
    expect(own[0]!.data).toMatchObject({ type: 'city.created', seq: 1, subject: when });
    expect(events(stream).filter(terminalOf(reply))).toHaveLength(1);
    expect(own.filter((f) => !terminalOf(reply)(f)).map((f) => f.data.type)).toEqual([
      'city.created',
      'config.reloaded',
      'controller.started',
      'test.emitted',
    ]);
  });
});

describe('twenty emitters over both replicas', () => {
  /** Reads, is cut at random, and goes on at a random replica, now by header, now by query; notes what is out of order. */
  async function reader(path: string, query: string, start: string, done: () => boolean, last: ReadonlyMap<string, number>) {
    const position = new Map<string, number>();
    const violations: string[] = [];
    let received = 0;
    let connections = 0;
    let id = start;
    const complete = (): boolean => done() && [...last].every(([city, seq]) => (position.get(city) ?? 0) >= seq);
    const limit = Date.now() + LIMIT_MS;
    while (!complete()) {
      if (Date.now() > limit) throw new Error(`${path} stuck at ${JSON.stringify([...position])}; wanted ${JSON.stringify([...last])}`);
      const byQuery = Math.random() < 0.5;
      const url = `${someUrl()}${path}${byQuery ? `?${query}=${encodeURIComponent(id)}` : ''}`;
      const stream = await openStream(url, { headers: byQuery ? {} : { 'last-event-id': id } });
      expect(stream.response.status).toBe(200);
      connections++;
      await sleep(20 + Math.random() * 150); // awaits nothing: it is cut wherever it is then
      await stream.close();
      for (const { data } of events(stream)) {
        if (data.type !== 'test.emitted') continue;
        const city = (data.city as string | undefined) ?? 'one-city';
        const before = position.get(city);
        if (before !== undefined && data.seq !== before + 1) violations.push(`${city}: ${before}, then ${data.seq} (from ${id})`);
        position.set(city, data.seq as number);
        received++;
      }
      id = stream.frames.at(-1)?.id ?? id;
    }
    return { violations, received, connections };
  }

  // Guards: the next-seq rule of the reader, exact ids on every frame, and replay before live.
  it.each([
    ['few cities, composite ids', 3, /^__supervisor__:\d+,/],
    ['more than sixteen streams, opaque ids', 16, /^~/],
  ])('readers that resume anywhere see every event once and in order (%s)', async (_, count, form) => {
    const names = from(1, count).map((n) => `crowd${n}`);
    const known = ((await a.get('/v0/cities')).body.items as { name: string }[]).map((c) => c.name);
    await create(...names.filter((name) => !known.includes(name)));
    const cursor = (await a.get('/v0/events?limit=1')).body.event_cursor as string;
    const first = String(await head('crowd1'));
    const last = new Map<string, number>();
    let emitting = 20;
    const work = async (e: number): Promise<void> => {
      for (let i = 0; i < EACH; i++) {
        const city = names[(e * 7 + i) % names.length]!;
        const seq = await emit(i % 2 === 0 ? a : b, city, { e, i });
        last.set(city, Math.max(seq, last.get(city) ?? 0));
      }
    };
    const emitters = Array.from({ length: 20 }, (_unused, e) => work(e).finally(() => emitting--));
    const over = (): boolean => emitting === 0;
    const single = new Proxy(last, {
      get: (target, key) =>
        key === Symbol.iterator ? () => [['one-city', target.get('crowd1') ?? 0]][Symbol.iterator]() : Reflect.get(target, key),
    });
    const readers = [
      ...Array.from({ length: 3 }, () => reader(SUPERVISOR, 'after_cursor', cursor, over, last)),
      reader(cityPath('crowd1'), 'after_seq', first, over, single),
    ];
    await Promise.all(emitters);
    const results = await Promise.all(readers);
    for (const { violations } of results) expect(violations).toEqual([]);
    expect(results.slice(0, 3).map((r) => r.received)).toEqual([20 * EACH, 20 * EACH, 20 * EACH]);
    const probe = await open(`${someUrl()}${SUPERVISOR}`);
    expect((await probe.until((f) => f.id !== undefined)).id).toMatch(form);
  });
});

describe('between replicas', () => {
  beforeAll(() => create('wire', 'other'));

  // Guard: the notification after the commit, seen by a listener of this test's own.
  it('a subscriber on B gets what is posted to A, and the others are notified of it', async () => {
    const [city, supervisor] = [await open(`${stack.urls[1]}${cityPath('wire')}`), await open(`${stack.urls[1]}${SUPERVISOR}`)];
    const notified: string[] = [];
    const listener = new pg.Client({ connectionString: stack.databaseUrl });
    await listener.connect();
    listener.on('notification', ({ payload }) => notified.push(...(payload ?? '').split(',')));
    await listener.query('listen ev');
    for (let i = 0; i < 9; i++) {
      const seq = await emit(a, 'wire', { i });
      expect((await city.until((f) => isEvent(f) && f.data.seq === seq)).data).toMatchObject({ payload: { i } });
      expect((await supervisor.until((f) => isEvent(f) && f.data.seq === seq)).data).toMatchObject({ city: 'wire', payload: { i } });
      await eventually(() => notified.includes(`wire:${seq}`));
    }
    await listener.end();
  });

  // Guard: the poll of the heads.
  it('what no notification announces arrives all the same', async () => {
    for (const failpoints of stack.failpoints) {
      failpoints.arm('notify.before', () => {
        throw new Error('dropped');
      });
    }
    const stream = await open(`${stack.urls[1]}${cityPath('wire')}`);
    const sent = [await emit(a, 'wire'), await emit(a, 'wire'), await emit(a, 'wire')];
    await stream.untilAll(() => events(stream).length === 3);
    expect(seqs(stream)).toEqual(sent);
  });

  // Guards: the poll while LISTEN is away, and the read of all heads once it is back (either of them is enough here).
  it('nothing is lost when the LISTEN connections are killed in the middle of a stream', async () => {
    const streams = [await open(`${stack.urls[0]}${cityPath('wire')}`), await open(`${stack.urls[1]}${cityPath('wire')}`)];
    const sent: number[] = [];
    for (let round = 0; round < 6; round++) {
      sent.push(await emit(a, 'wire'), await emit(b, 'wire'));
      const killed = await sql(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'svc-listen'",
      );
      if (round === 0) expect(killed.length).toBeGreaterThanOrEqual(2);
      sent.push(await emit(b, 'wire'), await emit(a, 'wire'));
    }
    for (const stream of streams) {
      await stream.untilAll(() => events(stream).length >= sent.length);
      expect(seqs(stream)).toEqual(sent);
    }
  });

  // Guard: a heartbeat carries the position of its own stream. That nobody who is behind gets one is proved with the client that reads late.
  it('no frame, heartbeats included, moves the position backwards', async () => {
    const city = await open(`${stack.urls[1]}${cityPath('wire')}?after_seq=0`);
    const some = await open(`${stack.urls[1]}${SUPERVISOR}?cities=wire,other`);
    const beats = (s: OpenStream): number => s.frames.filter((f) => f.event === 'heartbeat').length;
    let sent = 0;
    while (sent < 40 || beats(some) < 4) {
      await emit(sent % 2 === 0 ? a : b, sent % 3 === 0 ? 'other' : 'wire');
      sent++;
      await some.untilAll(() => events(some).length >= sent); // only who is not behind gets a heartbeat
    }
    await some.untilAll((frames) => frames.at(-1)?.event === 'heartbeat');
    await city.untilAll((frames) => frames.at(-1)?.event === 'heartbeat' && beats(city) > 3);
    const ids = city.frames.map((f) => Number(f.id));
    expect(ids.filter((id, i) => i > 0 && id < ids[i - 1]!)).toEqual([]);
    const vectors = some.frames.map((f) => new Map(f.id!.split(',').map((pair) => [pair.split(':')[0]!, Number(pair.split(':')[1])])));
    expect(vectors.filter((v, i) => i > 0 && [...v].some(([name, seq]) => seq < (vectors[i - 1]!.get(name) ?? 0)))).toEqual([]);
  });
});

describe('cities that come and go', () => {
  // Guards: the join rule of cursors, and the last words of a city that left.
  it('appear in and leave an open supervisor stream, which can be resumed from every id it delivered', async () => {
    const stream = await open(`${stack.urls[1]}${SUPERVISOR}?cities=visitor,wire`);
    await create('visitor');
    await emit(a, 'visitor');
    await done(await b.post('/v0/city/visitor/stop'));
    await done(await a.post('/v0/city/visitor/start'));
    await done(await b.post('/v0/city/visitor/unregister'));
    await done(await a.post('/v0/cities/register', { dir: 'visitor' }));
    await done(await b.post('/v0/city/visitor/unregister'));
    await emit(a, 'wire', { last: true });
    await stream.until((f) => isEvent(f) && f.data.payload?.last === true);
    const order = (frames: readonly Frame[]): Record<string, number[]> => {
      const streams: Record<string, number[]> = {};
      for (const { data } of frames) {
        const name = /^request\./.test(data.type as string) ? '__supervisor__' : (data.city as string);
        (streams[name] ??= []).push(data.seq as number);
      }
      return streams;
    };
    const all = events(stream);
    expect(order(all).visitor).toEqual(from(1, order(all).visitor!.length));
    expect(all.filter((f) => f.data.city === 'visitor').map((f) => f.data.type)).toEqual(
      expect.arrayContaining(['city.created', 'controller.started', 'test.emitted', 'controller.stopped', 'city.unregister_requested']),
    );
    for (const [i, frame] of all.entries()) {
      const rest = all.slice(i + 1);
      const resumed = await openStream(`${stack.urls[i % 2]}${SUPERVISOR}?cities=visitor,wire`, {
        headers: { 'last-event-id': frame.id! },
      });
      await resumed.untilAll(() => events(resumed).length >= rest.length);
      await resumed.close();
      expect({ from: frame.id, order: order(events(resumed)) }).toEqual({ from: frame.id, order: order(rest) });
    }
  });

  it('end the streams of their own events cleanly, and serve none while they do not run', async () => {
    await create('leaver');
    const stream = await open(`${stack.urls[1]}${cityPath('leaver')}`);
    await done(await a.post('/v0/city/leaver/stop'));
    await stream.untilEnd();
    expect(events(stream).map((f) => f.data.type)).toEqual(['controller.stopped']);
    expectRefusal(await b.get(cityPath('leaver')), cityPath('leaver'), {
      status: 404,
      detail: 'not_found: city not found or not running: leaver',
    });
  });
});

describe('positions', () => {
  beforeAll(() => create('place'));

  // Guard: the header is looked at first.
  it('Last-Event-ID wins over the query, and an empty one says nothing', async () => {
    for (let i = 0; i < 4; i++) await emit(a, 'place');
    const last = await head('place');
    const opens = async (query: string, header?: string): Promise<number[]> => {
      const stream = await open(`${someUrl()}${cityPath('place')}${query}`, header === undefined ? {} : { 'last-event-id': header });
      await stream.until((f) => f.id === String(last));
      return seqs(stream);
    };
    expect(await opens('?after_seq=0')).toEqual(from(1, last));
    expect(await opens('?after_seq=0', String(last - 1))).toEqual([last]);
    expect(await opens('?after_seq=0', '')).toEqual(from(1, last));
    expect(await opens(`?after_seq=${last}`, '0')).toEqual(from(1, last));
    expect(await opens('')).toEqual([]);
    const cursor = (await a.get('/v0/events?limit=1')).body.event_cursor as string;
    const back = cursor.replace(`place:${last}`, `place:${last - 2}`);
    const stream = await open(`${SUPERVISOR}?after_cursor=${encodeURIComponent(cursor)}`, { 'last-event-id': back });
    await stream.untilAll(() => events(stream).length === 2);
    expect(seqs(stream)).toEqual([last - 1, last]);
  });

  /** One ahead of the log is gone; any other was never one. */
  const refusal = (value: string, what: string): { status: number; detail: RegExp } =>
    /(^|:)999999$/.test(value)
      ? { status: 410, detail: new RegExp(`^cursor_ahead: ${what} is ahead`) }
      : { status: 400, detail: new RegExp(`^invalid_cursor: .*${what}`) };

  // Guard: every position is checked before the first header.
  it.each(['abc', '-1', '1.5', '999999', '1e3', '99999999999999999999'])(
    '%j is refused as a city position before any header',
    async (value) => {
      const path = `${cityPath('place')}?after_seq=${value}`;
      expectRefusal(await a.get(path), path, refusal(value, 'after_seq'));
      expectRefusal(await b.get(cityPath('place'), { 'Last-Event-ID': value }), cityPath('place'), refusal(value, 'Last-Event-ID'));
    },
  );

  it.each(['5', 'place', 'place:', 'place:x', 'place:-1', 'place:999999', 'place:1,place:2', ',', 'a b:1', '~', '~zz!', '~1.AAA!'])(
    '%j is refused as a supervisor position before any header',
    async (value) => {
      const path = `${SUPERVISOR}?after_cursor=${encodeURIComponent(value)}`;
      expectRefusal(await a.get(path), SUPERVISOR, refusal(value, 'after_cursor'));
      expectRefusal(await b.get(SUPERVISOR, { 'Last-Event-ID': value }), SUPERVISOR, refusal(value, 'Last-Event-ID'));
    },
  );

  // Guard: positions are held against the floor.
  // Guard: a client has so many different filters of one stream, and none of a kind that no event can have.
  it('are told of so many different filters of one key, and of no kind that is too long', async () => {
    const at = (n: number): string => `${SUPERVISOR}?type=bead.created,x${n}`;
    const streams = await Promise.all(Array.from({ length: MAX_FILTERS }, (_, n) => open(at(n))));
    await Promise.all(streams.map((stream) => stream.until((f) => f.event === 'heartbeat')));
    const over = at(MAX_FILTERS);
    const refused = await a.get(over);
    const detail = `rate_limited: too many requests of this key: ${MAX_FILTERS} different filters of one stream open at once`;
    expectRefusal(refused, over, { status: 429, detail });
    expect(refused.headers.get('retry-after')).toBe('5');
    // The same filter once more, and another stream, are none too many.
    await open(at(0));
    for (const [n, path] of [over, `${SUPERVISOR}?cities=${'x'.repeat(63)}`].entries()) {
      await streams[n + 1]!.close();
      await eventually(async () => {
        const stream = await openStream(`${stack.urls[0]}${path}`);
        opened.push(stream);
        return stream.response.status === 200;
      });
    }
    for (const path of [`${SUPERVISOR}?type=${'x'.repeat(256)}`, `${SUPERVISOR}?cities=${'x'.repeat(64)}`])
      expect((await a.get(path)).status).toBe(422);
  });

  it('what retention has taken away is 410 with the oldest position', async () => {
    await sql("update event_streams set floor = 3 where name = 'place'");
    await sql("delete from events e using event_streams s where s.id = e.stream_id and s.name = 'place' and e.seq <= 3");
    const path = `${cityPath('place')}?after_seq=2`;
    expectRefusal(await a.get(path), path, { status: 410, detail: /^cursor_expired: .*\b3$/ });
    expectRefusal(await b.get(`${SUPERVISOR}?after_cursor=place:2`), SUPERVISOR, { status: 410, detail: /^cursor_expired: .*\bplace:3$/ });
    const last = await head('place');
    const kept = await open(`${cityPath('place')}?after_seq=3`);
    await kept.until((f) => f.id === String(last));
    expect(seqs(kept)).toEqual(from(4, last - 3));
  });
});

describe('a replica in trouble', () => {
  beforeAll(() => create('sturdy'));

  // Guard: a read of the log before the headers.
  it('answers 503 no_providers before any header without its database; open streams wait, and miss nothing', async () => {
    const proxy = await DatabaseProxy.start(stack.databaseUrl);
    const replica = await stack.add('api', { databaseUrl: proxy.url });
    const there = await open(`${replica.url}${cityPath('sturdy')}`);
    const everything = await open(`${replica.url}${SUPERVISOR}?cities=sturdy`);
    await there.until((f) => f.event === 'heartbeat');
    await proxy.down();
    const sent = [await emit(a, 'sturdy'), await emit(b, 'sturdy')];
    expectRefusal(await api(replica.url).get(SUPERVISOR), SUPERVISOR, { status: 503, detail: /^no_providers: / });
    expectRefusal(await api(replica.url).get(cityPath('sturdy')), cityPath('sturdy'), {
      status: 503,
      detail: /^(no_providers|unavailable): /,
    });
    await proxy.up();
    for (const stream of [there, everything]) {
      await stream.untilAll(() => events(stream).length === 2);
      expect(seqs(stream)).toEqual(sent);
    }
    await replica.stop();
    await proxy.down();
  });

  // Guards: the ordered stop, its limits, and the exact position of every stream that is cut.
  it('stops within its limit with open streams, whose clients go on elsewhere without a gap', async () => {
    const c = await stack.add('api');
    const start = await head('sturdy');
    const streams: OpenStream[] = [];
    for (let i = 0; i < 15; i++)
      streams.push(await open(`${c.url}${cityPath('sturdy')}`), await open(`${c.url}${SUPERVISOR}?cities=sturdy`));
    const farewell = fetch(`${c.url}${SUPERVISOR}?cities=nobody`).then((response) => response.text());
    let emitting = true;
    let last = start;
    const emitter = (async () => {
      while (emitting) last = await emit(last % 2 === 0 ? a : b, 'sturdy');
    })();
    await streams[0]!.untilAll(() => events(streams[0]!).length > 20);
    await c.stop();
    await Promise.all(streams.map((stream) => stream.untilEnd(2_000)));
    expect(await farewell).toMatch(/event: heartbeat\n[^]*retry: \d+\n\n$/);
    emitting = false;
    await emitter;
    await expect(fetch(`${c.url}/health`)).rejects.toThrow();
    for (const [i, stream] of streams.entries()) {
      const path = i % 2 === 0 ? cityPath('sturdy') : `${SUPERVISOR}?cities=sturdy`;
      const resumed = await open(`${someUrl()}${path}`, { 'last-event-id': stream.frames.at(-1)!.id! });
      const tail = last - start - events(stream).length;
      await resumed.untilAll(() => events(resumed).length >= tail);
      expect([...seqs(stream), ...seqs(resumed)]).toEqual(from(start + 1, last - start));
    }
  });

  /** Twice what the kernel keeps for a connection. */
  const COUNT = 24;
  const flood = async (): Promise<void> => {
    const pad = 'x'.repeat(400_000);
    for (let i = 0; i < COUNT; i += 4) await Promise.all([0, 1, 2, 3].map(() => emit(a, 'sturdy', { pad })));
  };
  const ascending = (ids: number[]): void => expect(ids).toEqual([...ids].sort((x, y) => x - y));

  // Guard: no heartbeat for who is behind: its position would skip what the client has not got.
  it('parks a client that reads late, and it gets everything in order with positions that only grow', async () => {
    SlowClient.tolerate();
    const start = await head('sturdy');
    const slow = await SlowClient.open(`${stack.urls[1]}${cityPath('sturdy')}`);
    await flood();
    // Others get their heartbeats meanwhile.
    const beside = await open(`${stack.urls[1]}${SUPERVISOR}?cities=nobody`);
    await beside.untilAll((frames) => frames.filter((f) => f.event === 'heartbeat').length > 3);
    expect(slow.read().seqs.length).toBeLessThan(COUNT);
    slow.resume();
    await eventually(() => slow.read().seqs.length >= COUNT);
    expect(slow.read().seqs).toEqual(from(start + 1, COUNT));
    ascending(slow.read().ids);
    slow.close();
  });

  // Guards: the bound on what a stream may have unsent, and the limit on standing still.
  it('passes over a client that does not read, closes it, and the client resumes without a gap', async () => {
    const start = await head('sturdy');
    const slow = await SlowClient.open(`${stack.urls[1]}${cityPath('sturdy')}`);
    const brisk = await open(`${stack.urls[1]}${cityPath('sturdy')}`);
    await flood();
    await brisk.untilAll(() => events(brisk).length === COUNT);
    const streamsOpen = async (): Promise<number> =>
      Number(/^svc_streams_open(?:\{.*\})? (\d+)/m.exec((await b.get('/metrics')).text)?.[1]);
    SlowClient.timePasses();
    await eventually(async () => (await streamsOpen()) === 1);
    slow.resume();
    await eventually(() => slow.closed);
    const { ids, seqs: got } = slow.read();
    expect(got.length).toBeLessThan(COUNT);
    ascending(ids);
    const resumed = await open(`${stack.urls[0]}${cityPath('sturdy')}`, { 'last-event-id': String(ids.at(-1)) });
    await resumed.untilAll(() => got.length + events(resumed).length >= COUNT);
    expect([...got, ...seqs(resumed)]).toEqual(from(start + 1, COUNT));
  });
});
