import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { fastify, type FastifyInstance } from 'fastify';
import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { eventually } from '../../../test/support/sse.js';
import { Metrics } from '../health/metrics.js';
import type { Party } from '../turns/turns.js';
import { LARGE, openDoor } from './testing/front-door.js';
import { UnreadAnswers } from './unread-answers.js';

const of = (city: string, lane = 'one'): Party => ({ owner: `city ${city}`, limited: true, lane });

let now = 0;
let unread: UnreadAnswers;
let app: FastifyInstance;
const clients: Socket[] = [];

let metrics: Metrics;
function limit(slowMs: number): void {
  unread = new UnreadAnswers({ city: LARGE, key: 2 * LARGE, all: 3 * LARGE, slowMs }, () => now);
  unread.use((metrics = new Metrics()));
}
/** How many connections were cut. */
const cut = async (): Promise<number> => (await metrics.registry.getSingleMetric('svc_unread_answers_cut_total')!.get()).values[0]!.value;

/** What is asked for late is answered then. */
let held: Promise<void>;
let letGo: () => void;
let sent: number;

beforeEach(async () => {
  limit(10_000);
  sent = 0;
  held = new Promise((resolve) => (letGo = resolve));
  app = fastify({ forceCloseConnections: true });
  app.get<{ Params: { city: string } }>('/:city', (_request, reply) => reply.send('x'.repeat(LARGE)));
  app.get<{ Params: { city: string } }>('/late/:city', async () => {
    await held;
    return 'x'.repeat(LARGE);
  });
  app.addHook('onSend', (request, reply, payload, done) => {
    const { city } = request.params as { city: string };
    unread.sending(reply, payload, city === 'anybody' ? undefined : of(city));
    sent++;
    done(null, payload);
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await app.close();
});

/** A client that asks and reads as much as it is told to. */
function asks(port: number, path: string, headers = ''): Socket {
  const client = connect(port, '127.0.0.1');
  client.on('error', () => undefined);
  client.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n`);
  clients.push(client);
  return client;
}
const ask = (city: string): Socket => asks((app.server.address() as AddressInfo).port, `/${city}`);

/** Until so much has come altogether. */
async function read(client: Socket, bytes: number): Promise<void> {
  while (client.bytesRead < bytes) if (client.read() === null) await once(client, 'readable');
}

describe('answers that are not read', () => {
  it('of a client that has left before count for nobody', async () => {
    const accepted = once(app.server, 'connection') as Promise<[Socket]>;
    const client = ask('late/a');
    await once(app.server, 'request');
    client.destroy();
    const [socket] = await accepted;
    if (!socket.destroyed) await once(socket, 'close');
    letGo();
    await eventually(() => sent === 1);
    expect(unread.refusal(of('a'))).toBeUndefined();
  });

  it('keep further ones from their owner, not from others, until they are read', async () => {
    const client = ask('a');
    await eventually(() => unread.refusal(of('a')) !== undefined);
    expect(unread.refusal(of('a'))).toMatchObject({
      problem: 'rate_limited',
      message: expect.stringContaining('by the keys of this city'),
    });
    expect(unread.refusal(of('b'))).toBeUndefined();
    expect(unread.refusal(of('a', 'another'))).toBeUndefined();
    await read(client, LARGE);
    await eventually(() => unread.refusal(of('a')) === undefined);
  });

  it('keep them from all keys of a city at twice its limit', async () => {
    for (let n = 0; n < 2; n++) ask('a');
    await eventually(() => unread.refusal(of('a', 'another')) !== undefined);
  });

  it('keep them from nobody who has none, also when all together have too many', async () => {
    for (const city of ['a', 'b', 'c']) ask(city);
    await eventually(() => ['a', 'b', 'c'].every((city) => unread.refusal(of(city)) !== undefined));
    expect(unread.refusal(of('d'))).toBeUndefined();
    expect(unread.refusal({ owner: 'key k', limited: false, lane: 'a' })).toBeUndefined();
  });

  it('cost a client its connection that reads nothing for too long, whoever it is', async () => {
    limit(100);
    const [stuck, leaves] = [ask('anybody'), ask('b')];
    await once(leaves, 'readable');
    leaves.destroy();
    await eventually(async () => (await cut()) === 1, 10_000);
    stuck.resume();
    await once(stuck, 'close');
    expect(stuck.bytesRead).toBeLessThan(LARGE);
  });

  it('cost a slow client its connection when it is in the way of others of its owner', async () => {
    const [slow, others] = [ask('a'), ask('b')];
    await eventually(() => unread.refusal(of('a')) !== undefined && unread.refusal(of('b')) !== undefined);
    now += 9_999;
    expect([unread.refusal(of('a')) !== undefined, await cut()]).toEqual([true, 0]);
    now += 1;
    expect([unread.refusal(of('a')) !== undefined, await cut()]).toEqual([true, 1]);
    expect(unread.refusal(of('a'))).toBeUndefined();
    slow.resume();
    await once(slow, 'close');
    expect(slow.bytesRead).toBeLessThan(LARGE);
    await read(others, LARGE);
  });
});

describe('the front door', () => {
  it('answers a city with 429 that leaves its answers unread', async () => {
    const door = await openDoor({ auth: 'keys' });
    try {
      const asked = (key: string): Promise<Response> => fetch(`${door.url}/v0/things/1`, { headers: { Authorization: `Bearer ${key}` } });
      for (let n = 0; n < 2; n++) asks(door.port, '/v0/city/one/large', 'Authorization: Bearer svc_one\r\n');
      let refused!: Response;
      await eventually(async () => (refused = await asked('svc_one')).status === 429, 10_000);
      expect(['retry-after', 'ratelimit-policy', 'ratelimit'].map((name) => refused.headers.get(name))).toEqual([
        '1',
        '"city";q=33554432;qu="content-bytes"',
        '"city";r=0;t=1',
      ]);
      expect(await refused.json()).toMatchObject({ code: 'rate-limited', detail: expect.stringContaining('wait to be read') });
      expect((await asked('svc_two')).status).toBe(200);
      expect((await asked('svc_also')).status).toBe(200);
    } finally {
      for (const client of clients.splice(0)) client.destroy();
      await door.close();
    }
  });
});
