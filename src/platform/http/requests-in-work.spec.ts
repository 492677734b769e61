import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { EventEmitter } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyRequest } from 'fastify';
import { api, type Api, type Reply } from '../../../test/support/http.js';
import { eventually } from '../../../test/support/sse.js';
import { Lifecycle } from '../health/lifecycle.js';
import { Metrics } from '../health/metrics.js';
import { resting } from '../turns/working.js';
import { hijack } from './request.js';
import { RequestsInWork } from './requests-in-work.js';
import { HELD, openDoor, type Door } from './testing/front-door.js';

const LIMITS = { total: 6, key: 4, city: 4, waiting: 6 };

/** Answers before a body is read, as what forwards it does. */
const forwards = (app: NestFastifyApplication): void =>
  void app
    .getHttpAdapter()
    .getInstance()
    .route({
      method: 'POST',
      url: '/v0/city/:cityName/svc/*',
      config: { operation: { id: 'svc', summary: '', forwarded: true } },
      preParsing: async (request, reply) => {
        hijack(reply);
        for await (const chunk of request.raw) void chunk;
        reply.raw.end();
        return undefined as never;
      },
      handler: () => undefined,
    });

describe('requests in work', () => {
  let door: Door;
  const by = (token: string): Api => api(door.url, { Authorization: `Bearer ${token}` });
  const held = (token: string, city: string): Promise<Reply> => by(token).get(`/v0/city/${city}/held`);
  const atWork = (...names: string[]): Promise<unknown> => eventually(() => HELD.names.join() === names.join());
  const waiting = (count: number): Promise<unknown> =>
    eventually(async () => (await door.app.get(Metrics).registry.metrics()).includes(`\nsvc_requests_waiting ${count}\n`));
  const times = <T>(count: number, what: () => T): T[] => Array.from({ length: count }, what);

  beforeEach(async () => {
    door = await openDoor({ auth: 'keys', requestLimits: LIMITS }, { extend: forwards });
  });
  afterEach(async () => {
    const letting = setInterval(() => HELD.letGo(), 10);
    await door.close();
    clearInterval(letting);
    HELD.letGo();
  });

  it('of a city that floods leave room for another, whose are answered before the flood is', async () => {
    const flood = times(9, () => held('svc_one', 'one'));
    await atWork('one', 'one', 'one', 'one');
    await waiting(5);
    expect((await by('svc_two').get('/v0/text')).status).toBe(200);
    expect((await by('svc_write').get('/v0/text')).status).toBe(200);
    expect((await by('svc_two').get('/health')).status).toBe(200);
    expect(HELD.names).toHaveLength(4);
    // Beside others it has one at a time from now on.
    HELD.letGo(3);
    await eventually(() => HELD.names.length === 1);
    for (let n = 0; n < 6; n++) {
      HELD.letGo();
      if (n < 5) await atWork('one');
    }
    expect((await Promise.all(flood)).map(({ status }) => status)).toEqual(times(9, () => 200));
    await waiting(0);
  });

  it('wait in turn: a key of a city after the other', async () => {
    const flood = times(6, () => held('svc_one', 'one'));
    await atWork('one', 'one', 'one', 'one');
    await waiting(2);
    const also = by('svc_also').post('/v0/city/one/held', { name: 'also' });
    await waiting(3);
    // Two of the other key came before it.
    HELD.letGo(1);
    await atWork('one', 'one', 'one', 'one also');
    HELD.letGo();
    await atWork('one', 'one');
    HELD.letGo();
    expect((await Promise.all([...flood, also])).every(({ status }) => status < 300)).toBe(true);
  });

  it('are refused when their line is full: 429 for those of their own, with the fields of a limit', async () => {
    const flood = times(10, () => held('svc_one', 'one'));
    await waiting(6);
    for (const refused of [await held('svc_one', 'one'), await by('svc_also').post('/v0/city/one/held', { name: 'x' })]) {
      expect(refused.status).toBe(429);
      expect(refused.body).toMatchObject({
        code: 'rate-limited',
        detail: 'rate_limited: too many requests of all keys of this city: 4 in work at once; this one has found 6 that wait',
      });
      expect(refused.headers.get('retry-after')).toBe('1');
      expect(refused.headers.get('ratelimit-policy')).toBe('"city";q=4;qu="concurrent-requests"');
    }
    HELD.letGo();
    await atWork('one', 'one', 'one', 'one');
    HELD.letGo();
    await atWork('one', 'one');
    HELD.letGo();
    await Promise.all(flood);
  });

  it('of a caller that writes without end leave it its reads: room in the line, and every other turn', async () => {
    // When what follows fails they end with the server.
    const kept = (reply: Promise<Reply>): Promise<Reply> => (reply.catch(() => undefined), reply);
    const post = (name: string): Promise<Reply> => kept(by('svc_one').post('/v0/city/one/held', { name }));
    const flood = times(4, () => post('w'));
    await atWork('one w', 'one w', 'one w', 'one w');
    const more = times(5, () => post('w'));
    await waiting(5);
    expect((await post('w')).status).toBe(429);
    const read = kept(held('svc_one', 'one'));
    await waiting(6);
    HELD.letGo(1);
    await atWork('one w', 'one w', 'one w', 'one');
    for (let n = 0; n < 3; n++) {
      HELD.letGo();
      await eventually(() => HELD.names.length > 0 || n === 2);
    }
    const letting = setInterval(() => HELD.letGo(), 10);
    expect((await Promise.all([...flood, ...more, read])).map(({ status }) => status >= 300)).toEqual(times(10, () => false));
    clearInterval(letting);
  });

  it('that only wait for something hold no place', async () => {
    const resting = Promise.all(times(12, () => by('svc_one').get('/v0/city/one/resting')));
    // When what follows fails they end with the server.
    resting.catch(() => undefined);
    await eventually(() => HELD.names.length === 12);
    expect((await by('svc_one').get('/v0/text')).status).toBe(200);
    HELD.letGo();
    expect((await resting).map(({ status }) => status)).toEqual(times(12, () => 200));
  });

  const send = (token: string, text: string): Socket => {
    const socket = connect(door.port, '127.0.0.1').on('error', () => undefined);
    socket.write(text.replace('HTTP/1.1\r\n', `HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nX-SVC-Request: 1\r\n`));
    return socket;
  };

  it('hold no place before their bodies are there, and leave the line with their clients', async () => {
    const slow = times(4, () =>
      send('svc_one', 'POST /v0/city/one/held HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{"na'),
    );
    const flood = times(4, () => held('svc_one', 'one'));
    await atWork('one', 'one', 'one', 'one');
    const lines = times(2, () => send('svc_one', 'GET /v0/city/one/held HTTP/1.1\r\n\r\n'));
    await waiting(2);
    // Bodies that are still coming count as well: 4 and 2 are a line that is full.
    expect((await held('svc_one', 'one')).status).toBe(429);
    for (const socket of [...lines, ...slow]) socket.destroy();
    await waiting(0);
    const last = by('svc_one').post('/v0/city/one/held', { name: 'last' });
    await waiting(1);
    HELD.letGo();
    await atWork('one last');
    HELD.letGo();
    expect((await Promise.all([...flood, last])).map(({ status }) => status)).toEqual(times(5, () => 200));
  });

  it('leave the line when somebody else reads their bodies', async () => {
    for (let n = 0; n < LIMITS.waiting + 1; n++) {
      const headers = { Authorization: 'Bearer svc_one', 'X-SVC-Request': '1' };
      const answer = await fetch(`${door.url}/v0/city/one/svc/board`, { method: 'POST', headers, body: '{"name":"x"}' });
      expect([n, answer.status]).toEqual([n, 200]);
    }
    expect((await by('svc_one').post('/v0/things', { name: 'after' })).status).toBe(201);
  });

  it('of clients that have left keep their place until what they have begun is done', async () => {
    const gone = times(4, () => send('svc_one', 'GET /v0/city/one/held HTTP/1.1\r\n\r\n'));
    await atWork('one', 'one', 'one', 'one');
    for (const socket of gone) socket.destroy();
    const next = held('svc_one', 'one');
    await waiting(1);
    expect(HELD.names).toHaveLength(4);
    HELD.letGo();
    await atWork('one');
    HELD.letGo();
    expect((await next).status).toBe(200);
  });

  it('that wait are told to go elsewhere when the process stops', async () => {
    const flood = times(5, () => held('svc_one', 'one'));
    await waiting(1);
    const stopping = door.app.get(Lifecycle).stop();
    const first = await Promise.race(flood);
    expect([first.status, first.headers.get('retry-after'), first.headers.get('connection')]).toEqual([503, '1', 'close']);
    HELD.letGo();
    expect((await Promise.all(flood)).filter(({ status }) => status === 200)).toHaveLength(4);
    await stopping;
  });
});

describe('a body that has arrived', () => {
  // Guard: bodies that arrive together are not parsed in a row.
  it('is parsed at once when it is small, and one at a time when it is large', async () => {
    const room = new RequestsInWork({ total: 9, city: 9, key: 9, waiting: 9 });
    const parsed: string[] = [];
    const arrives = (name: string, bytes: number): void => {
      const headers = { 'content-length': String(bytes) };
      const request = { method: 'POST', headers, raw: new EventEmitter(), socket: new EventEmitter() } as unknown as FastifyRequest;
      room.enter(request, { owner: 'city one', limited: true, lane: '' }, () => undefined);
      room.arriving(request);
      request.raw.emit('data', Buffer.alloc(bytes));
      room.arrived(request, () => parsed.push(name));
    };
    for (const name of ['large', 'larger']) arrives(name, 40_000);
    arrives('small', 32_768);
    expect(parsed).toEqual(['small']);
    await turn();
    expect(parsed).toEqual(['small', 'large']);
    await eventually(() => parsed.length === 3);
  });
});

describe('a request that has rested', () => {
  const PARTY = { owner: 'city one', limited: true, lane: '' };
  const roomOf = (waitMs: number): RequestsInWork =>
    new RequestsInWork({ total: 1, city: 1, key: 1, waiting: 6 }, { waitMs, bytes: 1 << 20 });
  const ask = (method: string): FastifyRequest =>
    ({ method, headers: {}, raw: { url: '/', rawHeaders: [] }, socket: new EventEmitter() }) as unknown as FastifyRequest;
  /** Another one has its place by the time that it wants it back. */
  async function rested(room: RequestsInWork, method: string): Promise<unknown> {
    const [first, other] = [ask(method), ask('POST')];
    const taken = (): Promise<void> => new Promise((resolve) => room.enter(other, PARTY, () => resolve()));
    const ended = new Promise((resolve) => room.enter(first, PARTY, () => resolve(resting(taken).then(() => 'went on', String))));
    void ended.then(() => [first, other].forEach((request) => room.over(request)));
    return ended;
  }

  it('and may have changed something goes on without a place when it gets none in time', async () => {
    const room = roomOf(20);
    expect(await rested(room, 'POST')).toBe('went on');
    expect(room.ofCity('one')).toMatchObject({ waiting: 0, working: 0 });
    expect(await rested(room, 'GET')).toMatch(/rate_limited/);
    expect(room.ofCity('one')).toMatchObject({ waiting: 0, working: 0 });
  });

  it('and may have changed something goes on when the process stops', async () => {
    const room = roomOf(60_000);
    const waits = rested(room, 'POST');
    await eventually(() => room.ofCity('one').waiting === 1);
    room.drain();
    expect(await waits).toBe('went on');
    expect(room.ofCity('one')).toMatchObject({ waiting: 0, working: 0 });
  });
});
